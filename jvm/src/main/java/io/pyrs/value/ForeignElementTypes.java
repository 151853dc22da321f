package io.pyrs.value;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** Element types of third-party classes, created from bytes or from a dict. */
final class ForeignElementTypes {
    private ForeignElementTypes() {}

    /** Returns the element type with this name, or null if the name is unknown. */
    static ElementType of(String name, ClassLoader loader) {
        try {
            switch (name) {
                case "io.netty.buffer.ByteBuf":
                    return ofBytes(name, loader, "io.netty.buffer.Unpooled", "wrappedBuffer");
                case "io.vertx.core.buffer.Buffer":
                    return ofBytes(name, loader, name, "buffer");
                case "akka.util.ByteString":
                case "org.apache.pekko.util.ByteString":
                    return ofBytes(name, loader, name, "fromArray");
                case "software.amazon.awssdk.core.SdkBytes":
                    return ofBytes(name, loader, name, "fromByteArray");
                case "io.helidon.common.http.DataChunk":
                    return ofBytes(name, loader, name, "create");
                case "org.springframework.core.io.buffer.DataBuffer":
                    return dataBuffer(name, loader);
                case "org.bson.Document":
                    return document(name, loader);
                case "io.rsocket.Payload":
                    return payload(name, loader);
                case "org.apache.kafka.clients.producer.ProducerRecord":
                    return producerRecord(name, loader);
                case "reactor.kafka.sender.SenderRecord":
                    return senderRecord(name, loader);
                case "reactor.rabbitmq.OutboundMessage":
                    return outboundMessage(name, loader);
                default:
                    return null;
            }
        } catch (ReflectiveOperationException | LinkageError otherVersion) {
            throw new IllegalArgumentException(
                    "element_type " + name + ": the class is missing or has an unsupported version: " + otherVersion,
                    otherVersion);
        }
    }

    private interface Creator {
        Object create(Object value) throws Throwable;
    }

    private static ElementType type(String name, ClassLoader loader, Creator creator)
            throws ReflectiveOperationException {
        Class<?> type = Class.forName(name, false, loader);
        return new ElementType(name, type, value -> {
            try {
                return type.isInstance(value) ? value : creator.create(value);
            } catch (ConversionException | Error error) {
                throw error;
            } catch (Throwable error) {
                throw new ConversionException(
                        "a Python " + ElementType.pythonName(value) + " does not fit " + name + ": " + error, error);
            }
        });
    }

    private static ElementType ofBytes(String name, ClassLoader loader, String factory, String method)
            throws ReflectiveOperationException {
        MethodHandle make = generic(MethodHandles.publicLookup()
                .unreflect(Class.forName(factory, true, loader).getMethod(method, byte[].class)));
        return type(name, loader, value -> value instanceof byte[] ? (Object) make.invokeExact(value) : null);
    }

    private static ElementType dataBuffer(String name, ClassLoader loader) throws ReflectiveOperationException {
        Class<?> factory = Class.forName("org.springframework.core.io.buffer.DefaultDataBufferFactory", true, loader);
        MethodHandle wrap = generic(MethodHandles.publicLookup()
                .unreflect(factory.getMethod("wrap", byte[].class))
                .bindTo(factory.getConstructor().newInstance()));
        return type(name, loader, value -> value instanceof byte[] ? (Object) wrap.invokeExact(value) : null);
    }

    private static ElementType document(String name, ClassLoader loader) throws ReflectiveOperationException {
        MethodHandle make = constructor(name, loader, Map.class);
        return type(name, loader, value -> value instanceof Map ? (Object) make.invokeExact(value) : null);
    }

    /** Converts bytes, or a dict with "data" and optionally "metadata". */
    private static ElementType payload(String name, ClassLoader loader) throws ReflectiveOperationException {
        MethodHandle make = generic(MethodHandles.publicLookup()
                .unreflect(Class.forName("io.rsocket.util.DefaultPayload", true, loader)
                        .getMethod("create", byte[].class, byte[].class)));
        return type(name, loader, value -> {
            if (value instanceof byte[]) {
                return (Object) make.invokeExact(value, (Object) null);
            }
            Map<?, ?> dict = dict(value, Set.of("data", "metadata"));
            return dict == null
                    ? null
                    : (Object) make.invokeExact(required(dict, "data"), (Object) dict.get("metadata"));
        });
    }

    /** Converts a dict with "topic" and optionally "partition", "timestamp", "key", "value" and "headers". */
    private static ElementType producerRecord(String name, ClassLoader loader) throws ReflectiveOperationException {
        return type(
                name,
                loader,
                producerRecords(loader, Set.of("topic", "partition", "timestamp", "key", "value", "headers")));
    }

    private static Creator producerRecords(ClassLoader loader, Set<String> keys) throws ReflectiveOperationException {
        MethodHandle make = constructor(
                "org.apache.kafka.clients.producer.ProducerRecord",
                loader,
                String.class,
                Integer.class,
                Long.class,
                Object.class,
                Object.class,
                Iterable.class);
        MethodHandle header = constructor(
                "org.apache.kafka.common.header.internals.RecordHeader", loader, String.class, byte[].class);
        return value -> {
            Map<?, ?> dict = dict(value, keys);
            if (dict == null) {
                return null;
            }
            Long partition = (Long) dict.get("partition");
            List<Object> headers = new ArrayList<>();
            if (dict.get("headers") != null) {
                for (Object each : (List<?>) dict.get("headers")) {
                    List<?> pair = (List<?>) each;
                    headers.add((Object) header.invokeExact((Object) pair.get(0), (Object) pair.get(1)));
                }
            }
            return (Object) make.invokeExact(
                    required(dict, "topic"),
                    (Object) (partition == null ? null : Math.toIntExact(partition)),
                    (Object) dict.get("timestamp"),
                    (Object) dict.get("key"),
                    (Object) dict.get("value"),
                    (Object) headers);
        };
    }

    /** Converts the dict of a ProducerRecord with an optional "correlation", which the SenderResult will contain. */
    private static ElementType senderRecord(String name, ClassLoader loader) throws ReflectiveOperationException {
        Creator records = producerRecords(
                loader, Set.of("topic", "partition", "timestamp", "key", "value", "headers", "correlation"));
        Class<?> record = Class.forName("org.apache.kafka.clients.producer.ProducerRecord", false, loader);
        MethodHandle create = generic(MethodHandles.publicLookup()
                .unreflect(Class.forName(name, true, loader).getMethod("create", record, Object.class)));
        return type(name, loader, value -> {
            Object message = records.create(value);
            return message == null
                    ? null
                    : (Object) create.invokeExact(message, (Object) ((Map<?, ?>) value).get("correlation"));
        });
    }

    /** Converts a dict with "exchange", "routing_key", "body" and optionally "properties". */
    private static ElementType outboundMessage(String name, ClassLoader loader) throws ReflectiveOperationException {
        ElementType properties = built("com.rabbitmq.client.AMQP$BasicProperties", loader);
        MethodHandle make = constructor(name, loader, String.class, String.class, properties.component(), byte[].class);
        return type(name, loader, value -> {
            Map<?, ?> dict = dict(value, Set.of("exchange", "routing_key", "properties", "body"));
            return dict == null
                    ? null
                    : (Object) make.invokeExact(
                            required(dict, "exchange"),
                            required(dict, "routing_key"),
                            properties.from(dict.get("properties")),
                            required(dict, "body"));
        });
    }

    /** Converts a dict whose keys are the names, in snake case, of the setters of the class's Builder. */
    private static ElementType built(String name, ClassLoader loader) throws ReflectiveOperationException {
        Class<?> builder = Class.forName(name + "$Builder", true, loader);
        MethodHandle start = constructor(builder.getName(), loader);
        MethodHandle build = generic(MethodHandles.publicLookup().unreflect(builder.getMethod("build")));
        Map<String, MethodHandle> setters = new TreeMap<>();
        Map<String, ElementType> types = new TreeMap<>();
        for (Method each : builder.getMethods()) {
            if (each.getReturnType() == builder && each.getParameterCount() == 1) {
                String key = each.getName().replaceAll("(?=[A-Z])", "_").toLowerCase(Locale.ROOT);
                setters.put(key, generic(MethodHandles.publicLookup().unreflect(each)));
                types.put(key, ElementType.of(each.getParameterTypes()[0].getTypeName(), loader));
            }
        }
        return type(name, loader, value -> {
            Map<?, ?> dict = dict(value, setters.keySet());
            if (dict == null) {
                return null;
            }
            Object state = (Object) start.invokeExact();
            for (Map.Entry<?, ?> each : dict.entrySet()) {
                state = (Object) setters.get(each.getKey())
                        .invokeExact(state, types.get(each.getKey()).from(each.getValue()));
            }
            return (Object) build.invokeExact(state);
        });
    }

    /** Returns the value if it is a dict, else null. An unknown key is an error. */
    private static Map<?, ?> dict(Object value, Set<String> known) {
        if (!(value instanceof Map)) {
            return null;
        }
        Map<?, ?> dict = (Map<?, ?>) value;
        for (Object key : dict.keySet()) {
            if (!(key instanceof String) || !known.contains(key)) {
                throw new ConversionException(
                        "the dict has the key " + key + ", but only " + new TreeSet<>(known) + " are allowed");
            }
        }
        return dict;
    }

    private static Object required(Map<?, ?> dict, String key) {
        Object value = dict.get(key);
        if (value == null) {
            throw new ConversionException("the dict requires the key " + key + ", but has the keys " + dict.keySet());
        }
        return value;
    }

    private static MethodHandle constructor(String name, ClassLoader loader, Class<?>... parameters)
            throws ReflectiveOperationException {
        return generic(MethodHandles.publicLookup()
                .unreflectConstructor(Class.forName(name, true, loader).getConstructor(parameters)));
    }

    private static MethodHandle generic(MethodHandle handle) {
        return handle.asFixedArity()
                .asType(MethodType.genericMethodType(handle.type().parameterCount()));
    }
}
