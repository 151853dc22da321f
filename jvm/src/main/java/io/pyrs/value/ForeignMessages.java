package io.pyrs.value;

import io.pyrs.value.ForeignWriters.Converter;
import io.pyrs.value.ForeignWriters.ConverterFactory;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Converters of messages of brokers and web protocols to dicts. */
final class ForeignMessages {
    private ForeignMessages() {}

    static void addTo(Map<String, ConverterFactory> factories) {
        factories.put(
                "org.apache.kafka.clients.consumer.ConsumerRecord",
                GetterConverters.dict("topic", "partition", "offset", "timestamp", "key", "value", "headers"));
        factories.put("org.apache.kafka.common.header.Headers", ForeignMessages::kafkaHeaders);
        factories.put(
                "org.apache.kafka.clients.producer.RecordMetadata",
                GetterConverters.dict("topic", "partition", "offset", "timestamp"));
        factories.put(
                "reactor.kafka.sender.SenderResult",
                GetterConverters.dict(
                        "topic=recordMetadata.topic",
                        "partition=recordMetadata.partition",
                        "offset=recordMetadata.offset",
                        "timestamp=recordMetadata.timestamp",
                        "correlation=correlationMetadata",
                        "exception=exception.toString"));
        factories.put(
                "com.rabbitmq.client.Delivery",
                GetterConverters.dict(
                        "exchange=getEnvelope.getExchange", "routing_key=getEnvelope.getRoutingKey",
                        "delivery_tag=getEnvelope.getDeliveryTag", "redelivered=getEnvelope.isRedeliver",
                        "body=getBody", "properties=getProperties"));
        factories.put(
                "com.rabbitmq.client.BasicProperties",
                GetterConverters.dictWithoutNulls(
                        "content_type=getContentType",
                        "content_encoding=getContentEncoding",
                        "headers=getHeaders",
                        "delivery_mode=getDeliveryMode",
                        "priority=getPriority",
                        "correlation_id=getCorrelationId",
                        "reply_to=getReplyTo",
                        "expiration=getExpiration",
                        "message_id=getMessageId",
                        "timestamp=getTimestamp",
                        "type=getType",
                        "user_id=getUserId",
                        "app_id=getAppId"));
        factories.put("com.rabbitmq.client.LongString", GetterConverters.single("toString"));
        factories.put(
                "reactor.rabbitmq.OutboundMessage",
                GetterConverters.dict(
                        "exchange=getExchange",
                        "routing_key=getRoutingKey",
                        "body=getBody",
                        "properties=getProperties"));
        factories.put(
                "reactor.rabbitmq.OutboundMessageResult",
                GetterConverters.dict("ack=isAck", "returned=isReturned", "message=getOutboundMessage"));
        factories.put(
                "org.springframework.http.codec.ServerSentEvent",
                GetterConverters.dict("id", "event", "retry", "comment", "data"));
        factories.put("io.rsocket.Payload", ForeignMessages::payload);
    }

    /** Converts to pairs of name and bytes, since a name may occur more than once. */
    private static Converter kafkaHeaders(Class<?> type) throws ReflectiveOperationException {
        Class<?> header = Class.forName("org.apache.kafka.common.header.Header", false, type.getClassLoader());
        MethodHandle key = GetterConverters.method(header, "key");
        MethodHandle content = GetterConverters.method(header, "value");
        return value -> {
            List<Object> pairs = new ArrayList<>();
            for (Object each : (Iterable<?>) value) {
                pairs.add(Arrays.asList((Object) key.invokeExact(each), (Object) content.invokeExact(each)));
            }
            return pairs;
        };
    }

    private static Converter payload(Class<?> type) throws ReflectiveOperationException {
        MethodHandle data = GetterConverters.method(type, "getData");
        MethodHandle hasMetadata = GetterConverters.method(type, "hasMetadata");
        MethodHandle metadata = GetterConverters.method(type, "getMetadata");
        return value -> {
            Map<String, Object> dict = new LinkedHashMap<>();
            dict.put("data", (Object) data.invokeExact(value));
            dict.put(
                    "metadata",
                    (boolean) (Object) hasMetadata.invokeExact(value) ? (Object) metadata.invokeExact(value) : null);
            return dict;
        };
    }
}
