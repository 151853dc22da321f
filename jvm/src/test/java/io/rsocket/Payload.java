package io.rsocket;

import java.nio.ByteBuffer;

/** As much of RSocket's as the converter uses. */
public interface Payload {
    ByteBuffer getData();

    boolean hasMetadata();

    ByteBuffer getMetadata();

    boolean release();
}
