package org.apache.kafka.clients.consumer;

import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;

/** Test double with the methods that the converter uses. */
public class ConsumerRecord<K, V> {
    private final K key;
    private final V value;
    private final Headers headers;

    public ConsumerRecord(K key, V value, Iterable<Header> headers) {
        this.key = key;
        this.value = value;
        this.headers = headers::iterator;
    }

    public String topic() {
        return "topic";
    }

    public int partition() {
        return 3;
    }

    public long offset() {
        return 7L;
    }

    public long timestamp() {
        return 1_000L;
    }

    public K key() {
        return key;
    }

    public V value() {
        return value;
    }

    public Headers headers() {
        return headers;
    }
}
