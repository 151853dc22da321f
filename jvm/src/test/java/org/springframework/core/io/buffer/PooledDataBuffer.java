package org.springframework.core.io.buffer;

/** A buffer that its receiver releases. */
public interface PooledDataBuffer extends DataBuffer {
    boolean release();
}
