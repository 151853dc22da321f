package org.springframework.core.io.buffer;

/** Test double of the Spring interface of this name: a buffer that its receiver must release. */
public interface PooledDataBuffer extends DataBuffer {
    boolean release();
}
