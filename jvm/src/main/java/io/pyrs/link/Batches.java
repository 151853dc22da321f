package io.pyrs.link;

import io.pyrs.value.ValueBuffer;
import io.pyrs.value.ValueEncoder;
import io.pyrs.value.Conversion;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * What a publisher end has encoded and not yet written: a buffer that the emitting thread fills and the writer takes.
 *
 * <p>Between them stands a gate that neither waits at: the emitter holds it while it encodes (a getter of the user's may run there, and nobody may
 * wait for that); a writer that finds it held goes on to other streams, and the emitter calls it back when it leaves. A gate that
 * is held by another emitter is how signals from two threads at once are noticed (rule 1.3).
 */
final class Batches extends Outbox.Source {
    static final int MAX_ELEMENTS = 1_024;
    private static final int FREE = 0;
    private static final int EMITTING = 1;
    private static final int TAKING = 2;
    private static final VarHandle GATE;

    static {
        try {
            GATE = MethodHandles.lookup().findVarHandle(Batches.class, "gate", int.class);
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    private static final class Batch {
        final byte[] bytes;
        final Cargo cargo;
        final int elements;

        Batch(byte[] bytes, Cargo cargo, int elements) {
            this.bytes = bytes;
            this.cargo = cargo;
            this.elements = elements;
        }
    }

    private final OutboundStream stream;
    private final Session session;
    private final Carried carried;
    private final ValueEncoder encoder;
    private final ValueBuffer buffer = new ValueBuffer(256);
    private final Queue<Batch> sealed = new ConcurrentLinkedQueue<>();
    private int gate;
    private volatile boolean wanted;
    private int count;
    private Pieces unfinished;
    /** The writer's own: an emitter was inside when it looked last. */
    private boolean blocked;

    Batches(OutboundStream stream, Session session, Conversion conversion) {
        this.stream = stream;
        this.session = session;
        this.carried = new Carried(session.handles());
        this.encoder = new ValueEncoder(carried, conversion, true);
    }

    // The emitter's side.

    /** Enters the gate; false if another signal of this stream is inside (rule 1.3). */
    boolean enter() {
        for (int attempt = 1; ; attempt++) {
            if (GATE.compareAndSet(this, FREE, EMITTING)) {
                return true;
            }
            if ((int) GATE.getVolatile(this) == EMITTING) {
                return false;
            }
            // The writer is copying a buffer: a few microseconds at most.
            if (attempt % 64 == 0) {
                Thread.yield();
            } else {
                Thread.onSpinWait();
            }
        }
    }

    /** Leaves the gate; true if a writer came by meanwhile and wants to be called back. */
    boolean leave() {
        GATE.setVolatile(this, FREE);
        if (wanted) {
            wanted = false;
            return true;
        }
        return false;
    }

    /** Takes an element that is dropped: where its receiver has to release it, that is done here. */
    void discard(Object element) {
        encoder.discard(element);
    }

    /** Encodes one element, inside the gate; true if the batch is full. */
    boolean add(Object element) {
        encoder.encode(element, buffer);
        count++;
        if (count == MAX_ELEMENTS || buffer.size() >= Frames.MAX_BODY) {
            seal();
            return true;
        }
        return false;
    }

    private void seal() {
        sealed.add(new Batch(buffer.take(Frames.HEADER, count), carried.take(), count));
        count = 0;
    }

    // The writer's side.

    /** The next frame of this stream: of a large batch, of a batch, or its terminal. */
    @Override
    boolean take(Outbox outbox) {
        if (unfinished != null) {
            if (!unfinished.take(outbox)) {
                unfinished = null;
            }
            return true;
        }
        if (stream.isCancelled()) {
            discard();
            return false;
        }
        // Read before the buffers: what comes later stands behind them.
        byte[] terminal = stream.terminal();
        Batch batch = nextBatch();
        if (batch != null) {
            session.countOut(batch.elements);
            int type = batch.cargo.holdsHome() ? FrameType.NEXT_HOME : FrameType.NEXT;
            write(outbox, new Pieces(type, stream.id(), batch.bytes, batch.cargo));
            return true;
        }
        if (terminal == null || blocked || !stream.claimTerminal()) {
            return false;
        }
        if (terminal == OutboundStream.COMPLETE) {
            byte[] frame = Frames.frame(FrameType.COMPLETE, stream.id(), Frames.NOTHING);
            outbox.writeFrame(frame, 0, frame.length);
        } else {
            write(outbox, new Pieces(FrameType.ERROR, stream.id(), terminal, Cargo.NONE));
        }
        return unfinished != null;
    }

    private void write(Outbox outbox, Pieces pieces) {
        if (pieces.take(outbox)) {
            unfinished = pieces;
        }
    }

    private Batch nextBatch() {
        Batch batch = sealed.poll();
        blocked = batch == null && !enterAsWriter();
        if (batch == null && !blocked) {
            try {
                batch = sealed.poll();
                if (batch == null && count > 0) {
                    seal();
                    batch = sealed.poll();
                }
            } finally {
                GATE.setVolatile(this, FREE);
            }
        }
        return batch;
    }

    private boolean enterAsWriter() {
        if (GATE.compareAndSet(this, FREE, TAKING)) {
            return true;
        }
        wanted = true;
        // It may have left before it could see that: then nobody would call back.
        if (GATE.compareAndSet(this, FREE, TAKING)) {
            wanted = false;
            return true;
        }
        return false;
    }

    /** Takes back the handles of what will not be written. */
    void discard() {
        Batch batch;
        while ((batch = nextBatch()) != null) {
            batch.cargo.discard(session.handles());
        }
    }

    boolean isEmpty() {
        return count == 0 && sealed.isEmpty();
    }
}
