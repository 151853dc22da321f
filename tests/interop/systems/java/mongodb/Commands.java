package mongodb;

import com.mongodb.event.CommandListener;
import com.mongodb.event.CommandStartedEvent;
import com.mongodb.event.CommandSucceededEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** Records the commands that the server has executed, per database, so that late commands of one test do not reach the next. */
public final class Commands implements CommandListener {
    private final Map<Integer, String> started = new ConcurrentHashMap<>();
    private final Map<String, Done> databases = new ConcurrentHashMap<>();

    @Override
    public void commandStarted(CommandStartedEvent event) {
        var size = event.getCommand().get("batchSize");
        started.put(event.getRequestId(), size == null ? event.getCommandName() : event.getCommandName() + " " + size.asNumber().intValue());
    }

    @Override
    public void commandSucceeded(CommandSucceededEvent event) {
        of(event.getDatabaseName()).add(started.remove(event.getRequestId()));
    }

    public Done of(String database) {
        return databases.computeIfAbsent(database, name -> new Done());
    }

    /** The commands in one database: the name, and the requested batch size, as in "find 3". */
    public static final class Done {
        private final List<String> commands = new ArrayList<>();

        synchronized void add(String command) {
            commands.add(command);
            notifyAll();
        }

        /** Waits for {@code count} commands of this name; returns whether they arrived. */
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

        /** Returns the commands since the last call, one per line. */
        public synchronized String take() {
            String all = String.join("\n", commands);
            commands.clear();
            return all;
        }
    }
}
