package io.pyrs.link.session;

import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;

/** A message to be written, in fragments if its body is large. It keeps its references until it is written. */
final class OutgoingMessage extends Outbox.Source {
    private final FrameType type;
    private final long id;
    private final byte[] bytes;
    private int offset = Frames.HEADER;
    private CollectedReferences references;
    private Runnable written = () -> {};

    /**
     * @param bytes the body, after {@link Frames#HEADER} unused bytes for the header
     * @param references the references in the body, whose RELEASE must not overtake it
     */
    OutgoingMessage(FrameType type, long id, byte[] bytes, CollectedReferences references) {
        this.type = type;
        this.id = id;
        this.bytes = bytes;
        this.references = references;
    }

    /** Sets what the writer runs after the last fragment. */
    OutgoingMessage whenWritten(Runnable action) {
        written = action;
        return this;
    }

    @Override
    boolean take(Outbox outbox) {
        int left = bytes.length - offset;
        if (references == null) {
            return false;
        }
        int size = Math.min(left, Frames.MAX_BODY);
        boolean more = size < left;
        // The header of a fragment overwrites bytes that are written already, which avoids a copy.
        int start = offset - Frames.HEADER;
        Frames.writeHeader(bytes, start, type, more, id, size);
        outbox.writeFrame(bytes, start, Frames.HEADER + size);
        offset += size;
        if (!more) {
            references = null;
            written.run();
        }
        return more;
    }
}
