package io.pyrs.link;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * What waits to be written, and who may write it.
 *
 * <p>The writer's role belongs to one thread at a time: whoever finds it free takes what waits, the others leave their
 * frames and go. Control frames go first and in order, then every ready source has its turn, a frame each. Nothing here is
 * bounded by itself: a source holds no more than its stream's credit, and control frames answer frames.
 */
final class Outbox {
    private static final int WRITE_AT_ONCE = 4 * Frames.MAX_BODY;
    private static final int ROUNDS_OF_A_GUEST = 4;

    /** Where the bytes go. Called by one thread at a time; it deals with its own failures. */
    interface Sink {
        void write(byte[] bytes, int offset, int length);

        void flush();
    }

    /** Something with frames to write when its turn comes. */
    abstract static class Source {
        private final AtomicBoolean queued = new AtomicBoolean();

        final boolean isQueued() {
            return queued.get();
        }

        /** Writes the next frame, if there is one; returns whether more wait. Called by one thread at a time. */
        abstract boolean take(Outbox outbox);
    }

    private final Sink sink;
    private final Runnable wake;
    private final Queue<byte[]> control = new ConcurrentLinkedQueue<>();
    private final Queue<Source> ready = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean writing = new AtomicBoolean();
    private volatile boolean open;
    private volatile boolean closed;
    private volatile long bytesOut;
    private volatile long framesOut;

    /**
     * @param sink where the bytes go
     * @param wake has the writer thread call {@link #write} soon
     */
    Outbox(Sink sink, Runnable wake) {
        this.sink = sink;
        this.wake = wake;
    }

    /** Queues a control frame; {@link #flush} or {@link #nudge} sends it. */
    void control(byte[] frame) {
        if (!closed) {
            control.add(frame);
        }
    }

    /** Queues a source for its turn; {@link #flush} or {@link #nudge} sends it. */
    void ready(Source source) {
        if (!closed && !source.queued.get() && source.queued.compareAndSet(false, true)) {
            ready.add(source);
        }
    }

    /** Has the writer thread write soon. */
    void nudge() {
        wake.run();
    }

    /** Writes what waits, if no other thread is at it (that one writes it then). A guest does not become the writer for ever. */
    void flush() {
        if (!write(ROUNDS_OF_A_GUEST)) {
            wake.run();
        }
    }

    /** Writes until nothing waits: the writer thread's. */
    void write() {
        write(Integer.MAX_VALUE);
    }

    /** There is somewhere to write to. What was queued before waits for this: the peer may act before we know that it is connected. */
    void open() {
        open = true;
    }

    boolean hasWork() {
        return open && !closed && (!control.isEmpty() || !ready.isEmpty());
    }

    private boolean write(int rounds) {
        // The holder looks again after it let go, so that frames left while it wrote its last round are not forgotten.
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
                writeFrame(frame, 0, frame.length);
                continue;
            }
            Source source = ready.poll();
            if (source == null) {
                break;
            }
            // Cleared before it is read: what is added from here on queues it anew.
            source.queued.set(false);
            if (source.take(this)) {
                ready(source);
            }
        }
        sink.flush();
    }

    /** Writes one frame: for sources, inside their turn. */
    @SuppressWarnings("NonAtomicOperationOnVolatileField") // written by the holder of the role alone
    void writeFrame(byte[] bytes, int offset, int length) {
        framesOut++;
        bytesOut += length;
        sink.write(bytes, offset, length);
    }

    /** Drops what waits and takes no more. */
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
