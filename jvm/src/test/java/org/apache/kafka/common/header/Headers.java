package org.apache.kafka.common.header;

/** Headers in their order. */
public interface Headers extends Iterable<Header> {}
