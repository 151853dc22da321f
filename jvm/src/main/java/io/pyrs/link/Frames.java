package io.pyrs.link;

import java.nio.ByteBuffer;

/** Encodes frames as docs/protocol.md specifies; tests/vectors/frames.json holds the same bytes for both languages. */
final class Frames {
    static final int VERSION = 1;
    static final int MORE = 0x80;
    /** The size of length, type and id, which precede a body. */
    static final int HEADER = 13;
    /** The size of type and id, which the length field includes. */
    static final int TYPE_AND_ID = 9;
    static final int MAX_LENGTH = 131_072;
    static final int UNPROVEN_MAX_LENGTH = 128;
    static final int MAX_BODY = 65_536;
    static final int MAX_MESSAGE = 1 << 30;
    static final byte[] NOTHING = {};

    private Frames() {}

    /** Encodes a frame that needs no fragmentation. */
    static byte[] frame(int type, long id, byte[] body) {
        byte[] bytes = new byte[HEADER + body.length];
        writeHeader(bytes, type, id, body.length);
        System.arraycopy(body, 0, bytes, HEADER, body.length);
        return bytes;
    }

    static byte[] request(long id, long credit) {
        return frame(FrameType.REQUEST, id, ByteBuffer.allocate(8).putLong(credit).array());
    }

    /** Writes a header at the beginning of {@code bytes}. */
    static void writeHeader(byte[] bytes, int type, long id, int bodyLength) {
        ByteBuffer.wrap(bytes).putInt(TYPE_AND_ID + bodyLength).put((byte) type).putLong(id);
    }

    /**
     * Returns the number of elements in the body of a NEXT frame, from its msgpack array header.
     *
     * @throws ProtocolException if the body is not an array of one or more values
     */
    static int batchSize(byte[] body) {
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
