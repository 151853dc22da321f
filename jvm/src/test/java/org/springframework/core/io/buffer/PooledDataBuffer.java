package org.springframework.core.io.buffer;

/** Test double of a buffer that its receiver releases. */
public interface PooledDataBuffer extends DataBuffer {
    boolean release();
}
