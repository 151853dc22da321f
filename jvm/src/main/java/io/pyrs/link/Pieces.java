package io.pyrs.link;

import java.nio.ByteBuffer;

/** A message to be written, in fragments if its body is large. It keeps its references until it is written. */
final class Pieces extends Outbox.Source {
    private final int type;
    private final long id;
    private final byte[] bytes;
    private int offset = Frames.HEADER;
    private Cargo cargo;

    /**
     * @param bytes the body, after {@link Frames#HEADER} unused bytes for the header
     * @param cargo the references in the body, whose RELEASE must not overtake it
     */
    Pieces(int type, long id, byte[] bytes, Cargo cargo) {
        this.type = type;
        this.id = id;
        this.bytes = bytes;
        this.cargo = cargo;
    }

    @Override
    boolean take(Outbox outbox) {
        int left = bytes.length - offset;
        if (cargo == null) {
            return false;
        }
        int size = Math.min(left, Frames.MAX_BODY);
        boolean more = size < left;
        // The header of a fragment overwrites bytes that are written already, which avoids a copy.
        int start = offset - Frames.HEADER;
        ByteBuffer.wrap(bytes, start, Frames.HEADER)
                .putInt(Frames.TYPE_AND_ID + size)
                .put((byte) (more ? type | Frames.MORE : type))
                .putLong(id);
        outbox.writeFrame(bytes, start, Frames.HEADER + size);
        offset += size;
        if (!more) {
            cargo = null;
        }
        return more;
    }
}
