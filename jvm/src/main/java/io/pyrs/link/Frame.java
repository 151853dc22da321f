package io.pyrs.link;

/** One complete message, with the fragments of a large body joined. */
final class Frame {
    final int type;
    final long id;
    final byte[] body;

    Frame(int type, long id, byte[] body) {
        this.type = type;
        this.id = id;
        this.body = body;
    }

    @Override
    public String toString() {
        return FrameType.name(type) + " " + Long.toUnsignedString(id) + ", " + body.length + " bytes";
    }
}
