package io.pyrs.link.session;

import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import io.pyrs.value.SentReferences;
import java.nio.ByteBuffer;

/** A message to be written, in fragments if its body is large. It keeps its references until it is written. */
final class OutgoingMessage extends Outbox.Source {
    private final FrameType type;
    private final long id;
    private final byte[] bytes;
    /** The end of the body, which is not copied. */
    private final ByteBuffer tail;

    private int offset = Frames.HEADER;
    private SentReferences references;
    private Runnable written = () -> {};

    /**
     * @param bytes the body, after {@link Frames#HEADER} unused bytes for the header
     * @param references the references in the body, kept until the message is written, so that no RELEASE overtakes it
     */
    OutgoingMessage(FrameType type, long id, byte[] bytes, SentReferences references) {
        this(type, id, bytes, null, references);
    }

    /**
     * @param tail the end of the body, an array-backed buffer that must not change; null for none
     */
    OutgoingMessage(FrameType type, long id, byte[] bytes, ByteBuffer tail, SentReferences references) {
        this.type = type;
        this.id = id;
        this.bytes = bytes;
        this.tail = tail;
        this.references = references;
    }

    /** Sets the action that the writer runs after the last fragment. */
    OutgoingMessage whenWritten(Runnable action) {
        written = action;
        return this;
    }

    /** Reverts the exports of a message that is not sent. */
    void discard(Handles handles) {
        references.discard(handles);
    }

    @Override
    boolean take(Outbox outbox) {
        if (references == null) {
            return false;
        }
        int own = bytes.length - offset;
        int left = own + (tail == null ? 0 : tail.remaining());
        int size = Math.min(left, tail == null ? Frames.MAX_BODY : Frames.MAX_FRAGMENT);
        boolean more = size < left;
        int fromOwn = Math.min(own, size);
        // The header of a fragment overwrites bytes that are written already, which avoids a copy.
        int start = offset - Frames.HEADER;
        Frames.writeHeader(bytes, start, type, more, id, size);
        if (fromOwn == size) {
            outbox.writeFrame(bytes, start, Frames.HEADER + size);
        } else {
            ByteBuffer rest = tail.slice().limit(size - fromOwn);
            outbox.writeFrame(bytes, start, Frames.HEADER + fromOwn, rest);
            tail.position(tail.position() + rest.remaining());
        }
        offset += fromOwn;
        if (!more) {
            references = null;
            written.run();
        }
        return more;
    }
}
