package org.springframework.core.io.buffer;

/** Test double with the methods that the converter uses. */
public interface DataBuffer {
    int readableByteCount();

    int readPosition();

    DataBuffer readPosition(int position);

    DataBuffer read(byte[] target);
}
