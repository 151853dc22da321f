package io.pyrs.link;

import java.nio.ByteBuffer;

/** One message on its way, cut in frames where its body is large; it holds what its body carries until it was written. */
final class Pieces extends Outbox.Source {
    private final int type;
    private final long id;
    private final byte[] bytes;
    private int offset = Frames.HEADER;
    private Cargo cargo;

    /**
     * @param bytes the body, behind {@link Frames#HEADER} bytes of room for the header
     * @param cargo the references in the body: RELEASE must not overtake what it sends home
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
        // A piece's header takes the place of bytes that were written already: nothing is copied.
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
