package io.pyrs.link.protocol;

import io.pyrs.Limits;
import java.nio.ByteBuffer;

/** Encodes frames as docs/protocol.md specifies; tests/vectors/frames.json contains examples for both languages. */
public final class Frames {
    public static final int VERSION = 1;
    public static final int MORE = 0x80;
    /** The size of length, type and id, which precede a body. */
    public static final int HEADER = 13;
    /** The size of type and id, which the length field includes. */
    public static final int TYPE_AND_ID = 9;

    public static final int MAX_LENGTH = Limits.of("frame.length");
    public static final int UNPROVEN_MAX_LENGTH = Limits.of("frame.unproven_length");
    public static final int MAX_BODY = Limits.of("frame.body");
    /** The maximum body of a fragment if a message has several buffers: with its header, such a frame has 128 KiB. */
    public static final int MAX_FRAGMENT = MAX_LENGTH - HEADER;

    public static final int MAX_MESSAGE = Limits.of("message.bytes");
    public static final int MAX_UNFINISHED = Limits.of("message.unfinished");
    public static final long MAX_UNFINISHED_BYTES = (long) Limits.of("message.unfinished_mib") << 20;
    public static final byte[] NOTHING = {};

    private Frames() {}

    /** Encodes a frame that needs no fragmentation. */
    public static byte[] frame(FrameType type, long id, byte[] body) {
        byte[] bytes = new byte[HEADER + body.length];
        writeHeader(bytes, 0, type, false, id, body.length);
        System.arraycopy(body, 0, bytes, HEADER, body.length);
        return bytes;
    }

    /** Encodes a REQUEST. */
    public static byte[] request(long id, long credit) {
        return frame(
                FrameType.REQUEST, id, ByteBuffer.allocate(8).putLong(credit).array());
    }

    /** Writes a header at an offset; {@code more} announces further fragments of the same message. */
    public static void writeHeader(byte[] bytes, int offset, FrameType type, boolean more, long id, int bodyLength) {
        ByteBuffer.wrap(bytes, offset, HEADER)
                .putInt(TYPE_AND_ID + bodyLength)
                .put((byte) (more ? type.code() | MORE : type.code()))
                .putLong(id);
    }

    /**
     * Returns the number of elements in the body of a NEXT frame, from its msgpack array header.
     *
     * @throws ProtocolException if the body is not an array of one or more values
     */
    public static int batchSize(byte[] body) {
        long count = 0;
        if (body.length > 0) {
            int first = body[0] & 0xff;
            if ((first & 0xf0) == 0x90) {
                count = first & 0x0f;
            } else if (first == 0xdc && body.length >= 3) {
                count = ByteBuffer.wrap(body).getShort(1) & 0xffff;
            } else if (first == 0xdd && body.length >= 5) {
                count = ByteBuffer.wrap(body).getInt(1) & 0xffffffffL;
            }
        }
        // Each value takes at least one byte.
        if (count == 0 || count >= body.length) {
            throw new ProtocolException("malformed NEXT: its body is not an array of one or more values");
        }
        return (int) count;
    }
}
