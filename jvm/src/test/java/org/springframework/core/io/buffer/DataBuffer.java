package org.springframework.core.io.buffer;

/** As much of Spring's as the converter uses. */
public interface DataBuffer {
    int readableByteCount();

    int readPosition();

    DataBuffer readPosition(int position);

    DataBuffer read(byte[] target);
}
