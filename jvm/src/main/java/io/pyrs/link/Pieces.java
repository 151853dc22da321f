package io.pyrs.link;

import java.nio.ByteBuffer;
import java.util.List;

/** One message on its way, cut in frames where its body is large; it holds what its body carries until it was written. */
final class Pieces extends Outbox.Source {
    private final int type;
    private final long id;
    private final byte[] bytes;
    private int offset = Frames.HEADER;
    private List<Object> carried;

    /**
     * @param bytes the body, behind {@link Frames#HEADER} bytes of room for the header
     * @param carried objects of the peer's that the body sends home: RELEASE must not overtake them
     */
    Pieces(int type, long id, byte[] bytes, List<Object> carried) {
        this.type = type;
        this.id = id;
        this.bytes = bytes;
        this.carried = carried;
    }

    @Override
    boolean take(Outbox outbox) {
        int left = bytes.length - offset;
        if (carried == null) {
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
            carried = null;
        }
        return more;
    }
}
