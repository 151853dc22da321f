package io.vertx.core.buffer;

/** As much of Vert.x's as the converter and the element type use. */
public interface Buffer {
    byte[] getBytes();

    static Buffer buffer(byte[] bytes) {
        return () -> bytes;
    }
}
