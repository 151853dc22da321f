package org.apache.kafka.common.header;

/** A name and its bytes. */
public interface Header {
    String key();

    byte[] value();
}
