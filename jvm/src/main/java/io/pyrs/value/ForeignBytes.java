package io.pyrs.value;

import io.pyrs.value.Foreign.Converter;
import io.pyrs.value.Foreign.Maker;
import java.lang.invoke.MethodHandle;
import java.util.Map;

/** Converters of third-party buffers and byte strings to bytes. Reading does not change a position. */
final class ForeignBytes {
    private ForeignBytes() {}

    static void addTo(Map<String, Maker> makers) {
        makers.put("io.netty.buffer.ByteBuf", ForeignBytes::byteBuf);
        makers.put("org.springframework.core.io.buffer.DataBuffer", ForeignBytes::dataBuffer);
        makers.put("io.vertx.core.buffer.Buffer", Getters.single("getBytes"));
        makers.put("akka.util.ByteString", Getters.single("asByteBuffer"));
        makers.put("org.apache.pekko.util.ByteString", Getters.single("asByteBuffer"));
        makers.put("software.amazon.awssdk.core.BytesWrapper", Getters.single("asByteBuffer"));
        makers.put("io.helidon.common.http.DataChunk", Getters.single("bytes"));
        makers.put("org.bson.types.Binary", Getters.single("getData"));
        makers.put("org.bson.BsonBinary", Getters.single("getData"));
    }

    /** Reads from the reader index to the writer index. */
    private static Converter byteBuf(Class<?> type) throws ReflectiveOperationException {
        MethodHandle size = Getters.method(type, "readableBytes");
        MethodHandle at = Getters.method(type, "readerIndex");
        MethodHandle get = Getters.method(type, "getBytes", int.class, byte[].class);
        return value -> {
            byte[] bytes = new byte[(int) (Object) size.invokeExact(value)];
            Object ignored = (Object) get.invokeExact(value, (int) (Object) at.invokeExact(value), (Object) bytes);
            return bytes;
        };
    }

    /** Reads with the methods that Spring 5 and 6 share, and restores the position. */
    private static Converter dataBuffer(Class<?> type) throws ReflectiveOperationException {
        MethodHandle size = Getters.method(type, "readableByteCount");
        MethodHandle position = Getters.method(type, "readPosition");
        MethodHandle moveTo = Getters.method(type, "readPosition", int.class);
        MethodHandle read = Getters.method(type, "read", byte[].class);
        return value -> {
            byte[] bytes = new byte[(int) (Object) size.invokeExact(value)];
            int at = (int) (Object) position.invokeExact(value);
            Object ignored = (Object) read.invokeExact(value, (Object) bytes);
            ignored = (Object) moveTo.invokeExact(value, at);
            return bytes;
        };
    }
}
