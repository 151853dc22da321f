package io.pyrs.value;

import io.pyrs.value.ForeignWriters.Converter;
import io.pyrs.value.ForeignWriters.ConverterFactory;
import java.lang.invoke.MethodHandle;
import java.util.Map;

/** Converters of third-party buffers and byte strings to bytes. Reading does not change the position of a buffer. */
final class ForeignBytes {
    private ForeignBytes() {}

    static void addTo(Map<String, ConverterFactory> factories) {
        factories.put("io.netty.buffer.ByteBuf", ForeignBytes::byteBuf);
        factories.put("org.springframework.core.io.buffer.DataBuffer", ForeignBytes::dataBuffer);
        factories.put("io.vertx.core.buffer.Buffer", GetterConverters.single("getBytes"));
        factories.put("akka.util.ByteString", GetterConverters.single("asByteBuffer"));
        factories.put("org.apache.pekko.util.ByteString", GetterConverters.single("asByteBuffer"));
        factories.put("software.amazon.awssdk.core.BytesWrapper", GetterConverters.single("asByteBuffer"));
        factories.put("io.helidon.common.http.DataChunk", GetterConverters.single("bytes"));
        factories.put("org.bson.types.Binary", GetterConverters.single("getData"));
        factories.put("org.bson.BsonBinary", GetterConverters.single("getData"));
    }

    /** Reads from the reader index to the writer index. */
    private static Converter byteBuf(Class<?> type) throws ReflectiveOperationException {
        MethodHandle size = GetterConverters.method(type, "readableBytes");
        MethodHandle at = GetterConverters.method(type, "readerIndex");
        MethodHandle get = GetterConverters.method(type, "getBytes", int.class, byte[].class);
        return value -> {
            byte[] bytes = new byte[(int) (Object) size.invokeExact(value)];
            Object ignored = (Object) get.invokeExact(value, (int) (Object) at.invokeExact(value), (Object) bytes);
            return bytes;
        };
    }

    /** Reads with the methods that Spring 5 and 6 share, and restores the position. */
    private static Converter dataBuffer(Class<?> type) throws ReflectiveOperationException {
        MethodHandle size = GetterConverters.method(type, "readableByteCount");
        MethodHandle position = GetterConverters.method(type, "readPosition");
        MethodHandle moveTo = GetterConverters.method(type, "readPosition", int.class);
        MethodHandle read = GetterConverters.method(type, "read", byte[].class);
        return value -> {
            byte[] bytes = new byte[(int) (Object) size.invokeExact(value)];
            int at = (int) (Object) position.invokeExact(value);
            Object ignored = (Object) read.invokeExact(value, (Object) bytes);
            ignored = (Object) moveTo.invokeExact(value, at);
            return bytes;
        };
    }
}
