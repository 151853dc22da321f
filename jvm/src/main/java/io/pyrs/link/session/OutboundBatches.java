package io.pyrs.link.session;

import io.pyrs.Limits;
import io.pyrs.Log;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import io.pyrs.value.Conversion;
import io.pyrs.value.SentReferences;
import io.pyrs.value.ValueBuffer;
import io.pyrs.value.ValueEncoder;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Buffers the encoded elements of an outbound stream, from the emitting thread to the writer.
 *
 * <p>The gate, an atomic field, admits one of the two threads at a time, and neither blocks on it. The emitter occupies
 * the gate while it encodes, which may run a getter of the user. A writer that finds the gate occupied continues with
 * other streams, and is notified when the emitter leaves. An emitter that finds another emitter inside has detected
 * concurrent signals (rule 1.3).
 */
final class OutboundBatches extends Outbox.Source {
    static final int MAX_ELEMENTS = Limits.of("next.elements");
    /** With this many elements in the current or the last batch, the Publisher counts as faster than the writer. */
    private static final int BURST = 8;

    private static final int FREE = 0;
    private static final int EMITTING = 1;
    private static final int TAKING = 2;
    private static final VarHandle GATE;

    static {
        try {
            GATE = MethodHandles.lookup().findVarHandle(OutboundBatches.class, "gate", int.class);
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    private final OutboundStream stream;
    private final Session session;
    private final ValueEncoder encoder;
    private final ValueBuffer buffer = new ValueBuffer(256, Frames.MAX_BODY);
    private final Queue<OutgoingMessage> sealed = new ConcurrentLinkedQueue<>();
    private int gate;
    private volatile boolean writerWaits;
    private int count;
    /** The number of elements in the last batch. */
    private int previous;

    private OutgoingMessage unfinished;
    /** Used by the writer only: an emitter occupied the gate at the last attempt. */
    private boolean blocked;

    OutboundBatches(OutboundStream stream, Session session, Conversion conversion) {
        this.stream = stream;
        this.session = session;
        this.encoder = new ValueEncoder(session.handles(), conversion, true);
    }

    // Called by the emitter.

    /** Enters the gate; false if another signal of this stream is inside (rule 1.3). */
    boolean enter() {
        for (int attempt = 1; ; attempt++) {
            if (GATE.compareAndSet(this, FREE, EMITTING)) {
                return true;
            }
            if ((int) GATE.getVolatile(this) == EMITTING) {
                return false;
            }
            // The writer copies a buffer, which takes a few microseconds at most. BlockHound makes yield and onSpinWait
            // fail, too.
            if (CallingThread.isNonBlocking()) {
                continue;
            }
            if (attempt % 64 == 0) {
                Thread.yield();
            } else {
                Thread.onSpinWait();
            }
        }
    }

    /** Leaves the gate; returns whether a writer found it occupied and must be notified. */
    boolean leave() {
        GATE.setVolatile(this, FREE);
        if (writerWaits) {
            writerWaits = false;
            return true;
        }
        return false;
    }

    /** Drops an element, and releases it if its class requires that. */
    void discard(Object element) {
        encoder.discard(element);
    }

    /** Encodes one element; returns whether the batch is full. Called inside the gate. */
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
        int elements = count;
        count = 0;
        previous = elements;
        ByteBuffer tail = buffer.takeTail();
        byte[] bytes;
        try {
            bytes = buffer.take(Frames.HEADER, elements);
        } catch (OutOfMemoryError error) { // the copy of a large element: drop it, so that the error can be sent
            buffer.reset();
            encoder.takeReferences().discard(session.handles());
            session.dropped(elements);
            throw error;
        }
        SentReferences references = encoder.takeReferences();
        FrameType type = references.containsPeerObjects() ? FrameType.NEXT_HOME : FrameType.NEXT;
        sealed.add(new OutgoingMessage(type, stream.id(), bytes, tail, references)
                .whenWritten(() -> session.countOut(elements)));
    }

    // Called by the writer.

    /** Writes the next frame: a fragment of a large batch, a batch, or the terminal signal. */
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
        // Read before the buffers, so that a terminal signal follows all elements emitted before it.
        byte[] terminal = stream.terminal();
        OutgoingMessage batch;
        try {
            batch = nextBatch();
        } catch (OutOfMemoryError error) {
            return true; // the stream has a new terminal signal
        }
        if (batch != null) {
            write(outbox, batch);
            return true;
        }
        if (terminal == null || blocked || !stream.claimTerminal()) {
            return false;
        }
        if (terminal == OutboundStream.COMPLETE) {
            byte[] frame = Frames.frame(FrameType.COMPLETE, stream.id(), Frames.NOTHING);
            outbox.writeFrame(frame, 0, frame.length);
        } else {
            write(outbox, new OutgoingMessage(FrameType.ERROR, stream.id(), terminal, SentReferences.NONE));
        }
        return unfinished != null;
    }

    private void write(Outbox outbox, OutgoingMessage message) {
        if (message.take(outbox)) {
            unfinished = message;
        }
    }

    private OutgoingMessage nextBatch() {
        OutgoingMessage batch = sealed.poll();
        blocked = batch == null && !enterAsWriter();
        if (batch == null && !blocked) {
            try {
                batch = sealed.poll();
                if (batch == null && count > 0) {
                    seal();
                    batch = sealed.poll();
                }
            } catch (OutOfMemoryError error) {
                stream.loseElements(error); // inside the gate, so that no later element is sent
                throw error;
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
        writerWaits = true;
        // The emitter may have left before it saw the flag, and would not notify the writer.
        if (GATE.compareAndSet(this, FREE, TAKING)) {
            writerWaits = false;
            return true;
        }
        return false;
    }

    /** Drops all batches, and reverts their exports. */
    void discard() {
        try {
            OutgoingMessage batch;
            while ((batch = nextBatch()) != null) {
                batch.discard(session.handles());
            }
        } catch (OutOfMemoryError error) {
            Log.debug("the elements of a cancelled stream did not fit in memory, and are dropped", error);
        }
    }

    @Override
    boolean isFilling() {
        return Math.max(count, previous) >= BURST && sealed.isEmpty() && stream.terminal() == null;
    }

    boolean isEmpty() {
        return count == 0 && sealed.isEmpty();
    }
}
