package io.pyrs.value;

import io.pyrs.value.Foreign.Converter;
import io.pyrs.value.Foreign.Maker;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Converters of messages of brokers and web protocols to dicts. */
final class ForeignMessages {
    private ForeignMessages() {}

    static void addTo(Map<String, Maker> makers) {
        makers.put("org.apache.kafka.clients.consumer.ConsumerRecord",
                Getters.dict("topic", "partition", "offset", "timestamp", "key", "value", "headers"));
        makers.put("org.apache.kafka.common.header.Headers", ForeignMessages::kafkaHeaders);
        makers.put("org.apache.kafka.clients.producer.RecordMetadata", Getters.dict("topic", "partition", "offset", "timestamp"));
        makers.put("reactor.kafka.sender.SenderResult", Getters.dict(
                "topic=recordMetadata.topic", "partition=recordMetadata.partition", "offset=recordMetadata.offset",
                "timestamp=recordMetadata.timestamp", "correlation=correlationMetadata", "exception=exception.toString"));
        makers.put("com.rabbitmq.client.Delivery", Getters.dict(
                "exchange=getEnvelope.getExchange", "routing_key=getEnvelope.getRoutingKey",
                "delivery_tag=getEnvelope.getDeliveryTag", "redelivered=getEnvelope.isRedeliver",
                "body=getBody", "properties=getProperties"));
        makers.put("com.rabbitmq.client.BasicProperties", Getters.dictWithoutNulls(
                "content_type=getContentType", "content_encoding=getContentEncoding", "headers=getHeaders",
                "delivery_mode=getDeliveryMode", "priority=getPriority", "correlation_id=getCorrelationId",
                "reply_to=getReplyTo", "expiration=getExpiration", "message_id=getMessageId",
                "timestamp=getTimestamp", "type=getType", "user_id=getUserId", "app_id=getAppId"));
        makers.put("com.rabbitmq.client.LongString", Getters.single("toString"));
        makers.put("reactor.rabbitmq.OutboundMessage", Getters.dict(
                "exchange=getExchange", "routing_key=getRoutingKey", "body=getBody", "properties=getProperties"));
        makers.put("reactor.rabbitmq.OutboundMessageResult", Getters.dict(
                "ack=isAck", "returned=isReturned", "message=getOutboundMessage"));
        makers.put("org.springframework.http.codec.ServerSentEvent", Getters.dict("id", "event", "retry", "comment", "data"));
        makers.put("io.rsocket.Payload", ForeignMessages::payload);
    }

    /** Converts to pairs of name and bytes, since a name may occur more than once. */
    private static Converter kafkaHeaders(Class<?> type) throws ReflectiveOperationException {
        Class<?> header = Class.forName("org.apache.kafka.common.header.Header", false, type.getClassLoader());
        MethodHandle key = Getters.method(header, "key");
        MethodHandle content = Getters.method(header, "value");
        return value -> {
            List<Object> pairs = new ArrayList<>();
            for (Object each : (Iterable<?>) value) {
                pairs.add(Arrays.asList((Object) key.invokeExact(each), (Object) content.invokeExact(each)));
            }
            return pairs;
        };
    }

    private static Converter payload(Class<?> type) throws ReflectiveOperationException {
        MethodHandle data = Getters.method(type, "getData");
        MethodHandle hasMetadata = Getters.method(type, "hasMetadata");
        MethodHandle metadata = Getters.method(type, "getMetadata");
        return value -> {
            Map<String, Object> dict = new LinkedHashMap<>();
            dict.put("data", (Object) data.invokeExact(value));
            dict.put("metadata", (boolean) (Object) hasMetadata.invokeExact(value) ? (Object) metadata.invokeExact(value) : null);
            return dict;
        };
    }
}
