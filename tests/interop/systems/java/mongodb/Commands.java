package mongodb;

import com.mongodb.event.CommandListener;
import com.mongodb.event.CommandStartedEvent;
import com.mongodb.event.CommandSucceededEvent;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** What the driver told the server, and the server has done: the name of each command, with the batch that it asks for, as in "find 3". */
public final class Commands implements CommandListener {
    private final Map<Integer, String> told = new HashMap<>();
    private final List<String> done = new ArrayList<>();

    @Override
    public synchronized void commandStarted(CommandStartedEvent event) {
        var size = event.getCommand().get("batchSize");
        told.put(event.getRequestId(), size == null ? event.getCommandName() : event.getCommandName() + " " + size.asNumber().intValue());
    }

    @Override
    public synchronized void commandSucceeded(CommandSucceededEvent event) {
        done.add(told.remove(event.getRequestId()));
        notifyAll();
    }

    /** Waits for so many of a command; tells whether they came. */
    public synchronized boolean awaits(String command, int count, long milliseconds) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(milliseconds);
        while (done.stream().filter(each -> each.startsWith(command)).count() < count) {
            long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
            if (left <= 0) {
                return false;
            }
            wait(left);
        }
        return true;
    }

    /** All there were since this was asked last, one to a line. */
    public synchronized String take() {
        String all = String.join("\n", done);
        done.clear();
        return all;
    }
}
