package io.rsocket;

import java.nio.ByteBuffer;

/** Test double with the methods that the converter uses. */
public interface Payload {
    ByteBuffer getData();

    boolean hasMetadata();

    ByteBuffer getMetadata();

    boolean release();
}
