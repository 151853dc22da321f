package io.pyrs.link.connection;

import io.pyrs.Limits;
import io.pyrs.LinkBrokenException;
import io.pyrs.LinkClosedException;
import io.pyrs.Log;
import io.pyrs.PeerReference;
import io.pyrs.link.protocol.Frame;
import io.pyrs.link.protocol.FrameDecoder;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.GoAwayReason;
import io.pyrs.link.protocol.ProtocolException;
import io.pyrs.link.session.Codec;
import io.pyrs.link.session.Outbox;
import io.pyrs.link.session.Session;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

/** The socket of a link, its session, and its reader and writer threads. */
public final class Connection {
    private static final int READ_AT_ONCE = 256 * 1024;
    private static final int MANY_RELEASED = Limits.of("release.pending");
    private static final int MAX_RELEASED = Limits.of("release.unsent");
    private static final int MAX_UNSENT = Limits.of("link.unsent");
    private static final long HOUSEKEEPING_NANOS = TimeUnit.MILLISECONDS.toNanos(Limits.of("release.interval_ms"));
    private static final long BURST_NANOS = TimeUnit.MICROSECONDS.toNanos(50);
    private static final long GOAWAY_MILLIS = Limits.of("close.java_ms");

    /** The open connections. With JPype the process outlives the JVM, so a shutdown hook closes their sockets. */
    private static final Set<Connection> OPEN = ConcurrentHashMap.newKeySet();

    static {
        Thread hook = new Thread(
                () -> OPEN.forEach(each -> each.finish(new LinkBrokenException("the JVM shuts down"))),
                "pyrs-shutdown");
        hook.setContextClassLoader(Connection.class.getClassLoader());
        try {
            Runtime.getRuntime().addShutdownHook(hook);
        } catch (IllegalStateException tooLate) {
            Log.debug("the JVM is shutting down already", tooLate);
        }
    }

    private final String name;
    private final WorkerPool workers;
    private final SocketSink sink = new SocketSink();
    private final Outbox outbox;
    private final Session session;
    private final Listener listener;
    private final Runnable housekeeping;
    private final Runnable ended;
    private final AtomicBoolean finished = new AtomicBoolean();
    private volatile Thread writer;
    private volatile boolean parked;
    private volatile boolean closing;
    private volatile String goAwayMessage;
    /** Written by the reader only, like {@link #framesIn}. */
    private volatile long bytesIn;

    private volatile long framesIn;

    /**
     * Opens a port on 127.0.0.1 for a connection that proves the token.
     *
     * @param mirrors creates the mirror of an object of the peer
     * @param housekeeping runs on the writer thread after each round of writing, at least every release.interval_ms
     * @param ended runs once, at the end of the link
     */
    public Connection(
            String name,
            byte[] token,
            Function<PeerReference, Object> mirrors,
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
        this.workers = new WorkerPool(name, loader, maxThreads);
        this.outbox = new Outbox(sink, this::wake, () -> overflowed(MAX_UNSENT, "frames", "link.unsent"));
        this.session = new Session(workers, outbox, mirrors, loader, maxPrefetch, callDeadlineMillis, 2);
        this.listener = new Listener(name, token, new Opening());
    }

    /** Starts to accept connections. */
    public void start() {
        OPEN.add(this);
        listener.start();
    }

    final class Opening implements Listener.Outcome {
        @Override
        public void connected(Socket socket, FrameDecoder decoder, List<Frame> early) {
            try {
                InputStream in = socket.getInputStream();
                sink.connect(socket);
                if (finished.get()) {
                    // close() ran after the proof was sent, and found no socket to close.
                    sink.close();
                    return;
                }
                outbox.open();
                writer = thread(Connection.this::write, "writer");
                writer.start();
                thread(() -> read(in, decoder, early), "reader").start();
            } catch (IOException | OutOfMemoryError broken) { // OutOfMemoryError: the system has no more threads
                finish(new LinkBrokenException("the link to Python could not be opened: " + broken.getMessage()));
            }
        }

        @Override
        public void expired(String why) {
            finish(closing ? closed() : new LinkBrokenException("the link to Python was never opened: " + why));
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
            if (!outbox.needsWriter() && !finished.get()) {
                LockSupport.parkNanos(this, HOUSEKEEPING_NANOS);
            }
            parked = false;
            if (outbox.isFilling()) {
                // Wait for more elements, since a small frame costs as much as a full one. The emitting thread writes
                // full frames itself.
                LockSupport.parkNanos(this, BURST_NANOS);
            }
            try {
                if (session.handles().pendingReleases() > 0) {
                    session.handles().releaseFrames().forEach(outbox::control);
                }
                outbox.write();
                housekeeping.run();
            } catch (Throwable error) {
                sink.close(); // before the log, which may throw if memory is exhausted
                Log.warning("the link's writer failed", error);
                return;
            }
        }
    }

    // Reading.

    private void read(InputStream in, FrameDecoder decoder, List<Frame> early) {
        RuntimeException why = new LinkBrokenException("the link to Python is broken: its reader failed");
        try {
            why = readToEnd(in, decoder, early);
        } finally { // memory may be exhausted, so any statement may throw
            finish(closing ? closed() : why);
        }
    }

    /** Reads until the link ends, and returns the reason. */
    private RuntimeException readToEnd(InputStream in, FrameDecoder decoder, List<Frame> early) {
        try {
            readAll(in, decoder, early);
            return broken(goAwayMessage == null ? "the process closed the connection or has ended" : goAwayMessage);
        } catch (ProtocolException malformed) {
            Log.warning("the link to Python ends", malformed);
            sendGoAway(GoAwayReason.MALFORMED, malformed.getMessage());
            return broken(malformed.getMessage());
        } catch (IOException failed) {
            return broken(goAwayMessage == null ? failed.getMessage() : goAwayMessage);
        } catch (Throwable error) {
            // Unfinished messages may occupy the memory that the steps below need.
            decoder.clear();
            String failure = error instanceof OutOfMemoryError
                    ? "the JVM has too little memory for a message (" + error
                            + "): give it more, as with -Xmx, or send smaller values"
                    : "the reader of the JVM failed: " + error;
            sendGoAway(GoAwayReason.INTERNAL_ERROR, failure);
            Log.warning("the link's reader failed", error);
            return broken(failure);
        }
    }

    private static LinkBrokenException broken(String why) {
        return new LinkBrokenException("the link to Python is broken: " + why);
    }

    /** Reads until the connection ends. A separate method, so that no local variable keeps a message after an error. */
    private void readAll(InputStream in, FrameDecoder decoder, List<Frame> early) throws IOException {
        early.forEach(this::receive);
        int size;
        while ((size = decoder.read(in, READ_AT_ONCE)) >= 0) {
            bytesIn += size;
            for (Frame message : decoder.messages()) {
                receive(message);
            }
            if (session.handles().pendingReleases() > MANY_RELEASED) {
                wake();
                if (session.handles().pendingReleases() > MAX_RELEASED) {
                    overflowed(MAX_RELEASED, "handles", "release.unsent");
                }
            }
        }
    }

    private void receive(Frame message) {
        framesIn++;
        if (message.type == FrameType.GOAWAY) {
            Codec.Entries body = session.codec().decodeEntries(message, Long.class, String.class);
            if (body.failure() != null) {
                throw new ProtocolException(
                        "malformed GOAWAY: " + body.failure().getMessage(), body.failure());
            }
            String reason = "Python closed the link: " + body.get(1) + " (code " + body.get(0) + ")";
            if (goAwayMessage == null) { // the first one names the cause
                goAwayMessage = reason;
            }
            if (!Long.valueOf(GoAwayReason.CLOSING.code()).equals(body.get(0))) {
                Log.warning(reason);
            }
        } else {
            session.receive(message);
        }
    }

    // Termination.

    /** Ends the link, since the peer does not read it and too many control frames or releases wait to be sent. */
    private void overflowed(int most, String what, String limit) {
        goAwayMessage = String.format(
                Locale.ROOT,
                "Python does not read the link: more than the limit of %,d %s (%s) wait to be sent",
                most,
                what,
                limit);
        sink.close();
    }

    private static LinkClosedException closed() {
        return new LinkClosedException("the bridge was closed");
    }

    /** Sends GOAWAY with a deadline, since the peer may no longer read. */
    private void sendGoAway(GoAwayReason reason, String message) {
        Thread sender = thread(
                () -> {
                    outbox.last(session.goAway(reason, message));
                    outbox.flush();
                    outbox.awaitLast(); // another thread may be writing, and the socket is closed next
                },
                "goaway");
        sender.start();
        try {
            sender.join(GOAWAY_MILLIS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void finish(RuntimeException why) {
        if (!finished.compareAndSet(false, true)) {
            return;
        }
        try {
            session.lost(why);
        } finally { // memory may be exhausted; Python must see the end in any case
            sink.close();
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

    /** Closes the link: Subscribers receive LinkClosedException, upstream Subscriptions are cancelled, threads end. */
    public void close() {
        if (closing) {
            return;
        }
        closing = true;
        if (sink.isConnected()) {
            sendGoAway(GoAwayReason.CLOSING, "closing");
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

    /** Returns the counters for {@code Bridge.stats()}. */
    public Map<String, Object> stats() {
        Map<String, Object> stats = new LinkedHashMap<>(session.stats());
        stats.put("bytes_in", bytesIn);
        stats.put("frames_in", framesIn);
        stats.put("threads", workers.threads() + (sink.isConnected() && isOpen() ? 2L : 0L));
        return stats;
    }
}
