package io.pyrs.link.session;

import io.pyrs.Limits;
import io.pyrs.link.protocol.Frames;
import java.nio.ByteBuffer;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * The queue of frames to be written, and the election of the thread that writes them.
 *
 * <p>One thread at a time has the role of the writer: a thread that finds it free writes the queued frames, the others
 * leave theirs in the queue. Control frames are written first and in order, then each ready source writes one frame in
 * turn. The credit of its stream limits a source; link.unsent limits the control frames, which a peer might never read.
 */
public final class Outbox {
    private static final int WRITE_AT_ONCE = 4 * Frames.MAX_BODY;
    private static final int MAX_CALLER_ROUNDS = 4;
    private static final long AWAIT_NANOS = 50_000;
    private static final int MAX_UNSENT = Limits.of("link.unsent");

    /** The destination of the bytes. Called by one thread at a time; must not throw. */
    public interface Sink {
        void write(byte[] bytes, int offset, int length);

        void flush();
    }

    /** A producer of frames. */
    abstract static class Source {
        private final AtomicBoolean queued = new AtomicBoolean();

        final boolean isQueued() {
            return queued.get();
        }

        /** Returns whether elements are being added so fast that the next frame should wait for more of them. */
        boolean isFilling() {
            return false;
        }

        /** Writes the next frame, if there is one; returns whether more may follow. Called by one thread at a time. */
        abstract boolean take(Outbox outbox);
    }

    private final Sink sink;
    private final Runnable wake;
    private final int maxUnsent;
    private final Runnable overflowed;
    private final AtomicInteger unsent = new AtomicInteger();
    private final Queue<byte[]> control = new ConcurrentLinkedQueue<>();
    private final Queue<Source> ready = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean writing = new AtomicBoolean();
    private volatile boolean open;
    private volatile boolean closed;
    private volatile byte[] last;
    /** The rounds since {@link #last} was set. Accessed by the current writer only. */
    private int lastRounds;

    /** Written by the current writer only, like {@link #framesOut}. */
    private volatile long bytesOut;

    private volatile long framesOut;

    /**
     * @param sink the destination of the bytes
     * @param wake makes the writer thread call {@link #write} soon
     */
    public Outbox(Sink sink, Runnable wake) {
        this(sink, wake, () -> {});
    }

    /**
     * @param overflowed called when too many control frames wait, since the peer does not read
     */
    public Outbox(Sink sink, Runnable wake, Runnable overflowed) {
        this(sink, wake, overflowed, MAX_UNSENT);
    }

    Outbox(Sink sink, Runnable wake, Runnable overflowed, int maxUnsent) {
        this.sink = sink;
        this.wake = wake;
        this.overflowed = overflowed;
        this.maxUnsent = maxUnsent;
    }

    /** Queues a control frame; {@link #flush} or {@link #wakeWriter} sends it. */
    public void control(byte[] frame) {
        if (!closed) {
            if (unsent.incrementAndGet() > maxUnsent) { // before the writer can subtract the frame
                overflowed.run();
            }
            control.add(frame);
        }
    }

    /**
     * Queues the last frame, a GOAWAY. It is written after the frames that are queued now, but after a few rounds at
     * most, because sources may emit without end. All later frames are dropped, also those of a second call.
     */
    public void last(byte[] frame) {
        if (last == null) {
            last = frame;
        }
    }

    /** Queues a source for its turn; {@link #flush} or {@link #wakeWriter} starts the writing. */
    void ready(Source source) {
        if (!closed && !source.queued.get() && source.queued.compareAndSet(false, true)) {
            ready.add(source);
        }
    }

    /** Wakes the writer thread. */
    void wakeWriter() {
        wake.run();
    }

    /**
     * Writes the queued frames unless another thread does. Leaves the rest to the writer thread after some rounds.
     *
     * <p>A virtual thread leaves all frames to the writer thread. An interrupt of a virtual thread that waits in a
     * write closes the socket. A virtual thread that is not scheduled would keep the role of the writer. A thread of
     * Reactor or RxJava that must not block leaves all frames to the writer thread, too: BlockHound would make its
     * write fail, and the frames would be lost.
     */
    public void flush() {
        boolean written = false;
        try {
            written = CallingThread.mayBlock() && write(MAX_CALLER_ROUNDS);
        } finally {
            if (!written) {
                wake.run();
            }
        }
    }

    /** Writes until the queue is empty, unless another thread writes. Called by the writer thread. */
    public void write() {
        write(Integer.MAX_VALUE);
    }

    /**
     * Allows writing. Frames may be queued before this call: Python can call Java through the gateway as soon as it has
     * received the proof.
     */
    public void open() {
        open = true;
    }

    private boolean hasWork() {
        return open && !closed && (isQueued() || last != null);
    }

    /**
     * Returns whether frames wait and no thread writes. A thread that writes also writes the frames that are queued in
     * the meantime, or wakes the writer thread.
     */
    public boolean needsWriter() {
        return hasWork() && !writing.get();
    }

    private boolean isQueued() {
        return !control.isEmpty() || !ready.isEmpty();
    }

    /** Returns whether the next frame should wait for more elements of its source. A control frame never waits. */
    public boolean isFilling() {
        Source next = control.isEmpty() && last == null ? ready.peek() : null;
        return next != null && next.isFilling();
    }

    private boolean write(int rounds) {
        // The writer checks the queue again after leaving its role, for frames that were added during its last round.
        for (int round = 0; hasWork(); round++) {
            if (round >= rounds) {
                return false;
            }
            if (!writing.compareAndSet(false, true)) {
                return true;
            }
            try {
                round();
            } finally {
                writing.set(false);
            }
        }
        return true;
    }

    private void round() {
        long limit = bytesOut + WRITE_AT_ONCE;
        while (bytesOut < limit && !closed) {
            byte[] frame = control.poll();
            if (frame != null) {
                unsent.decrementAndGet();
                writeFrame(frame, 0, frame.length);
                continue;
            }
            Source source = ready.poll();
            if (source == null) {
                break;
            }
            // Cleared before the source is read, so that elements added later queue it again.
            source.queued.set(false);
            boolean more = true;
            try {
                more = source.take(this);
            } finally { // after an Error the writer thread tries the source again, and ends the link if that fails too
                if (more) {
                    ready(source);
                }
            }
        }
        byte[] end = last;
        boolean ends = end != null && !closed && (!isQueued() || ++lastRounds >= MAX_CALLER_ROUNDS);
        if (ends) {
            writeFrame(end, 0, end.length);
        }
        sink.flush();
        if (ends) {
            close();
        }
    }

    /** Waits until the last frame is written, also by another thread, or until {@link #close}. */
    public void awaitLast() {
        while (open && !closed) {
            LockSupport.parkNanos(this, AWAIT_NANOS);
        }
    }

    /** Writes one frame. Called by a source in its turn. */
    void writeFrame(byte[] bytes, int offset, int length) {
        framesOut++;
        bytesOut += length;
        sink.write(bytes, offset, length);
    }

    /** Writes one frame whose last bytes are in another, array-backed buffer. Called by a source in its turn. */
    void writeFrame(byte[] bytes, int offset, int length, ByteBuffer rest) {
        writeFrame(bytes, offset, length);
        int size = rest.remaining();
        bytesOut += size;
        sink.write(rest.array(), rest.arrayOffset() + rest.position(), size);
    }

    /** Drops the queued frames and all later ones. */
    void close() {
        closed = true;
        control.clear();
        ready.clear();
    }

    long bytesOut() {
        return bytesOut;
    }

    long framesOut() {
        return framesOut;
    }
}
