package io.netty.buffer;

/** Test double with the methods that the converter uses, with a constant reader index. */
public abstract class ByteBuf {
    public abstract int readableBytes();

    public abstract int readerIndex();

    public abstract ByteBuf getBytes(int index, byte[] target);
}
