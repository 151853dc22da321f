package org.apache.kafka.common.header;

/** Test double of a Kafka header: a name and its bytes. */
public interface Header {
    String key();

    byte[] value();
}
