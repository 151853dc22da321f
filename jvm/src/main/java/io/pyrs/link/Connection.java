package io.pyrs.link;

import io.pyrs.LinkBrokenException;
import io.pyrs.LinkClosedException;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

/** The socket of a link, the session that it carries, and its two threads: one reads, one writes what nobody else came to write. */
public final class Connection {
    private static final int READ_AT_ONCE = 256 * 1024;
    private static final int MANY_RELEASED = 2_048;
    private static final long HOUSEKEEPING_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long GOODBYE_MILLIS = 2_000;
    private static final int CLOSING = 0;
    private static final int INTERNAL_ERROR = 1;
    private static final int MALFORMED = 2;

    /** A JVM that another process has loaded (JPype) does not take its sockets with it: they are closed when it shuts down. */
    private static final Set<Connection> OPEN = ConcurrentHashMap.newKeySet();

    static {
        Thread hook = new Thread(
                () -> OPEN.forEach(each -> each.finish(new LinkBrokenException("the JVM shuts down"))), "pyrs-shutdown");
        hook.setContextClassLoader(Connection.class.getClassLoader());
        try {
            Runtime.getRuntime().addShutdownHook(hook);
        } catch (IllegalStateException tooLate) {
            Log.debug("the JVM is shutting down already", tooLate);
        }
    }

    private final String name;
    private final Workers workers;
    private final Outbox outbox;
    private final Session session;
    private final Listener listener;
    private final Runnable housekeeping;
    private final Runnable ended;
    private final AtomicBoolean finished = new AtomicBoolean();
    private volatile SocketSink sink;
    private volatile Thread writer;
    private volatile boolean parked;
    private volatile boolean closing;
    private volatile String farewell;
    private volatile long bytesIn;
    private volatile long framesIn;

    /**
     * Opens a port on 127.0.0.1 and waits for the one who knows the token.
     *
     * @param standIns makes what stands for an object of the peer's
     * @param housekeeping runs about twice a second on the writer thread
     * @param ended runs once, when the link is over, whoever ended it
     */
    public Connection(
            String name,
            byte[] token,
            Function<Reference, Object> standIns,
            ClassLoader loader,
            int maxPrefetch,
            int maxThreads,
            long callDeadlineMillis,
            Runnable housekeeping,
            Runnable ended)
            throws IOException {
        this.name = name;
        this.housekeeping = housekeeping;
        this.ended = ended;
        this.workers = new Workers(name, loader, maxThreads);
        this.outbox = new Outbox(new ToSocket(), this::wake);
        this.session = new Session(workers, outbox, standIns, loader, maxPrefetch, callDeadlineMillis);
        this.listener = new Listener(name, token, new Opening());
    }

    /** Begins to wait for the connection. */
    public void start() {
        OPEN.add(this);
        listener.start();
    }

    private final class Opening implements Listener.Outcome {
        @Override
        public void connected(Socket socket, FrameDecoder decoder, List<Frame> early) {
            try {
                InputStream in = socket.getInputStream();
                sink = new SocketSink(socket);
                outbox.open();
                writer = thread(Connection.this::write, "writer");
                writer.start();
                thread(() -> read(in, decoder, early), "reader").start();
            } catch (IOException broken) {
                finish(new LinkBrokenException("the link to Python could not be opened: " + broken.getMessage()));
            }
        }

        @Override
        public void expired(String why) {
            finish(closing ? closed() : new LinkBrokenException("the link to Python was never opened: " + why));
        }
    }

    /** What is written before the connection stands has nowhere to go: no handle is known to anybody then. */
    private final class ToSocket implements Outbox.Sink {
        @Override
        public void write(byte[] bytes, int offset, int length) {
            SocketSink target = sink;
            if (target != null) {
                target.write(bytes, offset, length);
            }
        }

        @Override
        public void flush() {
            SocketSink target = sink;
            if (target != null) {
                target.flush();
            }
        }
    }

    private Thread thread(Runnable body, String role) {
        Thread thread = new Thread(null, body, "pyrs-" + name + "-" + role, 0, false);
        thread.setDaemon(true);
        return thread;
    }

    // Writing.

    private void wake() {
        if (parked) {
            LockSupport.unpark(writer);
        }
    }

    private void write() {
        while (!finished.get()) {
            parked = true;
            if (!outbox.hasWork() && !finished.get()) {
                LockSupport.parkNanos(this, HOUSEKEEPING_NANOS);
            }
            parked = false;
            try {
                if (session.handles().waiting() > 0) {
                    session.handles().releaseFrames().forEach(outbox::control);
                }
                outbox.write();
                housekeeping.run();
            } catch (Throwable error) {
                Log.warning("the link's writer failed", error);
                sink.close();
                return;
            }
        }
    }

    // Reading.

    private void read(InputStream in, FrameDecoder decoder, List<Frame> early) {
        RuntimeException why;
        try {
            early.forEach(this::receive);
            byte[] buffer = new byte[READ_AT_ONCE];
            int size;
            while ((size = in.read(buffer)) >= 0) {
                count(size);
                for (Frame message : decoder.feed(buffer, 0, size)) {
                    receive(message);
                }
                if (session.handles().waiting() > MANY_RELEASED) {
                    wake();
                }
            }
            why = new LinkBrokenException("the link to Python is broken: "
                    + (farewell == null ? "the process closed the connection or has ended" : farewell));
        } catch (ProtocolException malformed) {
            why = new LinkBrokenException("the link to Python is broken: " + malformed.getMessage());
            Log.warning("the link to Python ends", malformed);
            sayGoodbye(MALFORMED, malformed.getMessage());
        } catch (IOException broken) {
            why = new LinkBrokenException("the link to Python is broken: " + broken.getMessage());
        } catch (Throwable error) {
            why = new LinkBrokenException("the link to Python is broken: its reader failed: " + error);
            Log.warning("the link's reader failed", error);
            sayGoodbye(INTERNAL_ERROR, "the reader failed");
        }
        finish(closing ? closed() : why);
    }

    @SuppressWarnings("NonAtomicOperationOnVolatileField") // written by the reader alone
    private void count(int size) {
        bytesIn += size;
    }

    @SuppressWarnings("NonAtomicOperationOnVolatileField") // written by the reader alone
    private void receive(Frame message) {
        framesIn++;
        if (message.type == FrameType.GOAWAY) {
            Codec.Entries body = session.codec().decodeEntries(message, 2);
            farewell = "Python said goodbye: " + body.get(1) + " (code " + body.get(0) + ")";
            if (!Long.valueOf(CLOSING).equals(body.get(0))) {
                Log.warning(farewell);
            }
        } else {
            session.receive(message);
        }
    }

    // The end.

    private static LinkClosedException closed() {
        return new LinkClosedException("the bridge was closed");
    }

    /** A courtesy, and nobody waits for it long: the socket may be full, and the other end may never read again. */
    private void sayGoodbye(int code, String message) {
        Thread courtesy = thread(
                () -> {
                    outbox.control(session.goAway(code, message));
                    outbox.flush();
                },
                "goodbye");
        courtesy.start();
        try {
            courtesy.join(GOODBYE_MILLIS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void finish(RuntimeException why) {
        if (!finished.compareAndSet(false, true)) {
            return;
        }
        session.lost(why);
        SocketSink target = sink;
        if (target != null) {
            target.close();
        }
        Thread waiting = writer;
        if (waiting != null) {
            LockSupport.unpark(waiting);
        }
        workers.close();
        listener.close();
        OPEN.remove(this);
        ended.run();
    }

    /** Ends the link from this side: Subscribers get LinkClosedException, upstreams are cancelled, threads end. */
    public void close() {
        if (closing) {
            return;
        }
        closing = true;
        if (sink != null) {
            sayGoodbye(CLOSING, "closing");
        }
        finish(closed());
    }

    public Session session() {
        return session;
    }

    public int port() {
        return listener.port();
    }

    public boolean isOpen() {
        return !finished.get();
    }

    /** Numbers for {@code Bridge.stats()}. */
    public Map<String, Object> stats() {
        Map<String, Object> stats = new LinkedHashMap<>(session.stats());
        stats.put("bytes_in", bytesIn);
        stats.put("frames_in", framesIn);
        stats.put("threads", workers.threads() + (sink != null && isOpen() ? 2L : 0L));
        return stats;
    }
}
