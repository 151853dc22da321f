package io.netty.buffer;

/** As much of Netty's as the converter uses; the index of the reader never moves. */
public abstract class ByteBuf {
    public abstract int readableBytes();

    public abstract int readerIndex();

    public abstract ByteBuf getBytes(int index, byte[] target);
}
