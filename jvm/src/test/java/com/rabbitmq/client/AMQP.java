package com.rabbitmq.client;

import java.util.Date;
import java.util.Map;

/** Test double with the classes that the element type uses. */
public interface AMQP {
    final class BasicProperties {
        public final String text;

        private BasicProperties(String text) {
            this.text = text;
        }

        public static final class Builder {
            private final StringBuilder text = new StringBuilder();

            public Builder contentType(String contentType) {
                return with("contentType", contentType);
            }

            public Builder deliveryMode(Integer deliveryMode) {
                return with("deliveryMode", deliveryMode);
            }

            public Builder headers(Map<String, Object> headers) {
                return with("headers", headers);
            }

            public Builder timestamp(Date timestamp) {
                return with("timestamp", timestamp.getTime());
            }

            private Builder with(String name, Object value) {
                text.append(name).append('=').append(value).append(' ');
                return this;
            }

            public BasicProperties build() {
                return new BasicProperties(text.toString().trim());
            }
        }
    }
}
