package io.pyrs.value;

import io.pyrs.value.Foreign.Converter;
import io.pyrs.value.Foreign.Maker;
import java.lang.invoke.MethodHandle;
import java.util.Map;

/** Buffers and byte strings of libraries, as bytes. None is moved by the reading. */
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

    /** From the reader's index to the writer's. */
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

    /** By what Spring 5 and 6 have in common: read, and put the position back. */
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
