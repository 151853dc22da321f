package io.pyrs.link.protocol;

/** One complete message, with the fragments of a large body joined. */
public final class Frame {
    public final FrameType type;
    public final long id;
    public final byte[] body;

    public Frame(FrameType type, long id, byte[] body) {
        this.type = type;
        this.id = id;
        this.body = body;
    }

    @Override
    public String toString() {
        return type + " " + Long.toUnsignedString(id) + ", " + body.length + " bytes";
    }
}
