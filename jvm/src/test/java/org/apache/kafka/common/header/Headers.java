package org.apache.kafka.common.header;

/** Test double of the headers of a Kafka record, in their order. */
public interface Headers extends Iterable<Header> {}
