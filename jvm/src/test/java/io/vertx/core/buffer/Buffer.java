package io.vertx.core.buffer;

/** Test double with the methods that the converter and the element type use. */
public interface Buffer {
    byte[] getBytes();

    static Buffer buffer(byte[] bytes) {
        return () -> bytes;
    }
}
