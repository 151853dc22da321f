package mongodb;

import com.mongodb.event.CommandListener;
import com.mongodb.event.CommandStartedEvent;
import com.mongodb.event.CommandSucceededEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** What the driver told the server, and the server has done, apart for each database: what one test leaves behind comes late, and is none of the next one's. */
public final class Commands implements CommandListener {
    private final Map<Integer, String> told = new ConcurrentHashMap<>();
    private final Map<String, Done> databases = new ConcurrentHashMap<>();

    @Override
    public void commandStarted(CommandStartedEvent event) {
        var size = event.getCommand().get("batchSize");
        told.put(event.getRequestId(), size == null ? event.getCommandName() : event.getCommandName() + " " + size.asNumber().intValue());
    }

    @Override
    public void commandSucceeded(CommandSucceededEvent event) {
        of(event.getDatabaseName()).add(told.remove(event.getRequestId()));
    }

    public Done of(String database) {
        return databases.computeIfAbsent(database, name -> new Done());
    }

    /** In one database: the name of each command, with the batch that it asks for, as in "find 3". */
    public static final class Done {
        private final List<String> commands = new ArrayList<>();

        synchronized void add(String command) {
            commands.add(command);
            notifyAll();
        }

        /** Waits for so many of a command; tells whether they came. */
        public synchronized boolean awaits(String command, int count, long milliseconds) throws InterruptedException {
            long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(milliseconds);
            while (commands.stream().filter(each -> each.startsWith(command)).count() < count) {
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
            String all = String.join("\n", commands);
            commands.clear();
            return all;
        }
    }
}
