package io.pyrs.value;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertFalse;
import static org.testng.Assert.assertSame;
import static org.testng.Assert.assertTrue;
import static org.testng.Assert.expectThrows;

import io.netty.buffer.ByteBuf;
import io.r2dbc.spi.ReadableMetadata;
import io.r2dbc.spi.Row;
import io.r2dbc.spi.RowMetadata;
import io.vertx.core.buffer.Buffer;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.bson.types.ObjectId;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.PooledDataBuffer;
import org.testng.annotations.Test;
import reactor.rabbitmq.OutboundMessage;
import software.amazon.awssdk.core.SdkField;
import software.amazon.awssdk.core.SdkPojo;

/** Tests conversion, release and element types of third-party classes, with test doubles of the same names. */
public class ForeignValuesTest {
    private static final class Text extends ByteBuf {
        @Override
        public int readableBytes() {
            return 2;
        }

        @Override
        public int readerIndex() {
            return 1;
        }

        @Override
        public ByteBuf getBytes(int index, byte[] target) {
            System.arraycopy("abc".getBytes(), index, target, 0, target.length);
            return this;
        }
    }

    private static class Pooled implements PooledDataBuffer {
        private int position;
        int released;

        @Override
        public int readableByteCount() {
            if (released > 0) {
                throw new IllegalStateException("released already");
            }
            return 3 - position;
        }

        @Override
        public int readPosition() {
            return position;
        }

        @Override
        public DataBuffer readPosition(int moved) {
            position = moved;
            return this;
        }

        @Override
        public DataBuffer read(byte[] target) {
            System.arraycopy("abc".getBytes(), position, target, 0, target.length);
            position += target.length;
            return this;
        }

        @Override
        public boolean release() {
            released++;
            return true;
        }
    }

    private static final class Message implements io.rsocket.Payload {
        int released;

        @Override
        public ByteBuffer getData() {
            return ByteBuffer.wrap(new byte[] {1});
        }

        @Override
        public boolean hasMetadata() {
            return false;
        }

        @Override
        public ByteBuffer getMetadata() {
            throw new IllegalStateException("there is none");
        }

        @Override
        public boolean release() {
            released++;
            return true;
        }
    }

    private static Object value(Object given) {
        return ValueCopy.of(given, Conversion.of("values"));
    }

    private static byte[] bytes(Object given) {
        return (byte[]) value(given);
    }

    private static void receive(Object element) {
        new ValueEncoder(new RecordingReferences(), Conversion.of("values"), true).encode(element, new ValueBuffer());
    }

    @Test
    public void buffersAreBytesAndKeepTheirPosition() {
        assertEquals(bytes(new Text()), "bc".getBytes());
        Pooled pooled = new Pooled();
        pooled.readPosition(1);
        assertEquals(bytes(pooled), "bc".getBytes());
        assertEquals(pooled.readPosition(), 1);
        assertEquals(bytes(Buffer.buffer("vertx".getBytes())), "vertx".getBytes());
    }

    @Test
    public void receiverReleasesOnce() {
        Pooled pooled = new Pooled();
        receive(pooled);
        assertEquals(pooled.released, 1);
        Message message = new Message();
        receive(message);
        assertEquals(message.released, 1);
        Pooled first = new Pooled();
        Pooled second = new Pooled();
        receive(Map.of("parts", List.of(first, second)));
        assertEquals(List.of(first.released, second.released), List.of(1, 1));
    }

    @Test
    public void copyReleasesNothing() {
        Pooled pooled = new Pooled();
        value(pooled);
        assertEquals(pooled.released, 0);
    }

    @Test
    public void valueIsReleasedAfterEncodingFails() {
        Pooled pooled = new Pooled();
        ConversionException error =
                expectThrows(ConversionException.class, () -> receive(Arrays.asList(pooled, new Object())));
        assertTrue(error.getMessage().contains("java.lang.Object"), error.getMessage());
        assertEquals(pooled.released, 1);
    }

    /** A bean with a failing getter before a pooled buffer. */
    public static final class BrokenBean {
        final Pooled pooled;

        BrokenBean(Pooled pooled) {
            this.pooled = pooled;
        }

        public Object getHead() {
            throw new IllegalStateException("broken");
        }

        public Object getTail() {
            return pooled;
        }
    }

    @Test
    public void valuesAfterAFailureAreReleased() {
        Object unconvertible = new Object();
        Map<Object, Object> map = new LinkedHashMap<>();
        Pooled[] pooled = new Pooled[6];
        Arrays.setAll(pooled, i -> new Pooled());
        map.put("first", unconvertible);
        map.put(List.of("no key"), pooled[0]);
        map.put("list", Arrays.asList(unconvertible, pooled[1]));
        map.put("array", new Object[] {unconvertible, pooled[2]});
        map.put("set", new LinkedHashSet<>(Arrays.asList(unconvertible, pooled[3])));
        map.put("bean", new BrokenBean(pooled[4]));
        map.put("last", pooled[5]);
        ConversionException error = expectThrows(ConversionException.class, () -> receive(map));
        assertTrue(error.getMessage().contains("java.lang.Object"), error.getMessage());
        assertEquals(
                Arrays.stream(pooled).map(each -> each.released).collect(Collectors.toList()),
                List.of(1, 1, 1, 1, 1, 1));
        Pooled dropped = new Pooled();
        new ValueEncoder(new RecordingReferences(), Conversion.of("values"), true)
                .discard(Arrays.asList(unconvertible, dropped));
        assertEquals(dropped.released, 1);
    }

    @Test(timeOut = 120_000)
    public void valuesNextToACycleAreReleased() {
        Pooled pooled = new Pooled();
        List<Object> cyclic = new ArrayList<>();
        cyclic.add(cyclic);
        cyclic.add(cyclic);
        ValueBuffer buffer = new ValueBuffer();
        ValueEncoder encoder = new ValueEncoder(new RecordingReferences(), Conversion.of("values"), true);
        ConversionException error =
                expectThrows(ConversionException.class, () -> encoder.encode(Arrays.asList(cyclic, pooled), buffer));
        assertTrue(error.getMessage().contains("contains itself"), error.getMessage());
        assertEquals(pooled.released, 1);
        assertEquals(buffer.size(), 0);
        encoder.encode(List.of("fine"), buffer);
    }

    @Test
    public void releasedBufferIsRejected() {
        Pooled pooled = new Pooled();
        receive(pooled);
        ConversionException error = expectThrows(ConversionException.class, () -> receive(pooled));
        assertTrue(error.getMessage().contains("released already"), error.getMessage());
    }

    @Test
    public void droppedElementIsReleased() {
        Pooled pooled = new Pooled();
        new ValueEncoder(new RecordingReferences(), Conversion.of("values"), true).discard(pooled);
        assertEquals(pooled.released, 1);
        new ValueEncoder(new RecordingReferences(), Conversion.AUTO, true)
                .discard(pooled); // sent as a reference, so it is not released
        new ValueEncoder(new RecordingReferences(), Conversion.of("values"), true).discard("text");
        assertEquals(pooled.released, 1);
    }

    @Test
    public void valuesInsideDroppedElementAreReleased() {
        Pooled first = new Pooled();
        Pooled second = new Pooled();
        RecordingReferences references = new RecordingReferences();
        ValueEncoder encoder = new ValueEncoder(references, Conversion.of("values"), true);
        encoder.discard(Map.of("parts", List.of(first, second)));
        encoder.discard(Arrays.asList(new Object())); // it cannot be converted, but it is dropped
        assertEquals(List.of(first.released, second.released), List.of(1, 1));
        assertEquals(references.owned, List.of());
    }

    @Test
    public void valueThatCannotBeReleasedIsNotWritten() {
        Pooled refuses = new Pooled() {
            @Override
            public boolean release() {
                super.release();
                throw new IllegalStateException("not now");
            }
        };
        Pooled first = new Pooled();
        Pooled last = new Pooled();
        ValueBuffer buffer = new ValueBuffer(256);
        ValueEncoder encoder = new ValueEncoder(new RecordingReferences(), Conversion.of("values"), true);
        ConversionException error =
                expectThrows(ConversionException.class, () -> encoder.encode(List.of(first, refuses, last), buffer));
        assertTrue(error.getMessage().contains("not now"), error.getMessage());
        assertEquals(buffer.size(), 0);
        assertEquals(List.of(first.released, refuses.released, last.released), List.of(1, 1, 1));
    }

    @Test
    public void foreignValuesAreReferencesByDefault() {
        Pooled pooled = new Pooled();
        RecordingReferences references = new RecordingReferences();
        for (Object convert : new Object[] {"auto", "references"}) {
            new ValueEncoder(references, Conversion.of(convert), true).encode(pooled, new ValueBuffer());
        }
        assertEquals(references.owned, List.of(pooled, pooled));
        assertEquals(pooled.released, 0);
    }

    @Test
    public void payloadWithoutMetadataHasNullMetadata() {
        Map<?, ?> payload = (Map<?, ?>) value(new Message());
        assertEquals((byte[]) payload.get("data"), new byte[] {1});
        assertTrue(payload.containsKey("metadata"));
        assertSame(payload.get("metadata"), null);
    }

    private static Row row(RowMetadata metadata, Object... values) {
        return new Row() {
            @Override
            public RowMetadata getMetadata() {
                return metadata;
            }

            @Override
            public Object get(int index) {
                return values[index];
            }
        };
    }

    private static RowMetadata columns(AtomicInteger reads, String... names) {
        List<ReadableMetadata> columns = new ArrayList<>();
        for (String name : names) {
            columns.add(() -> name);
        }
        return () -> {
            reads.incrementAndGet();
            return columns;
        };
    }

    @Test
    public void rowIsDictAndItsNamesAreReadOnce() {
        AtomicInteger reads = new AtomicInteger();
        RowMetadata metadata = columns(reads, "id", "name");
        ValueEncoder encoder =
                new ValueEncoder(new RecordingReferences(), Conversion.of(Map.of("io.r2dbc.spi.Row", "values")));
        for (int i = 0; i < 3; i++) {
            ValueBuffer out = new ValueBuffer();
            encoder.encode(row(metadata, i, null), out);
            Map<Object, Object> expected = new LinkedHashMap<>();
            expected.put("id", (long) i);
            expected.put("name", null);
            assertEquals(new ValueDecoder(new RecordingReferences(), null).decode(out.take()), expected);
        }
        assertEquals(reads.get(), 1);
        assertEquals(value(row(columns(reads, "other"), 5)), Map.of("other", 5L));
    }

    @Test
    public void duplicateColumnNamesAreRejected() {
        RowMetadata metadata = columns(new AtomicInteger(), "id", "id");
        ConversionException error = expectThrows(ConversionException.class, () -> value(row(metadata, 1, 2)));
        assertTrue(error.getMessage().contains("[id, id]"), error.getMessage());
    }

    @Test
    public void kafkaRecordIsDictWithHeaders() {
        Header header = new Header() {
            @Override
            public String key() {
                return "h";
            }

            @Override
            public byte[] value() {
                return new byte[] {9};
            }
        };
        ConsumerRecord<String, byte[]> record = new ConsumerRecord<>("k", new byte[] {1}, List.of(header));
        for (Object mode :
                new Object[] {"values", Map.of("org.apache.kafka.clients.consumer.ConsumerRecord", "values")}) {
            Map<?, ?> dict = (Map<?, ?>) ValueCopy.of(record, Conversion.of(mode));
            assertEquals(
                    new ArrayList<Object>(dict.keySet()),
                    List.of("topic", "partition", "offset", "timestamp", "key", "value", "headers"));
            assertEquals(dict.get("offset"), 7L);
            List<?> pair = (List<?>) ((List<?>) dict.get("headers")).get(0);
            assertEquals(pair.get(0), "h");
            assertEquals((byte[]) pair.get(1), new byte[] {9});
        }
    }

    @Test
    public void awsObjectIsDictOfItsFields() {
        SdkPojo owner = () -> List.of(new SdkField<>("Name", given -> "me"));
        SdkPojo object = () -> List.of(
                new SdkField<>("Key", given -> "k"),
                new SdkField<>("Unset", given -> null),
                new SdkField<>("Owner", given -> owner));
        assertEquals(value(object), Map.of("Key", "k", "Owner", Map.of("Name", "me")));
    }

    @Test
    public void foreignValueInsideMapIsConverted() {
        assertEquals(value(Collections.singletonMap("_id", new ObjectId())), Map.of("_id", "507f1f77bcf86cd799439011"));
    }

    @Test
    public void bytesAreConvertedToForeignElementType() {
        ElementType buffers =
                ElementType.of("io.vertx.core.buffer.Buffer", getClass().getClassLoader());
        Object buffer = buffers.from("abc".getBytes());
        assertEquals(((Buffer) buffer).getBytes(), "abc".getBytes());
        assertSame(buffers.from(buffer), buffer);
        ConversionException error = expectThrows(ConversionException.class, () -> buffers.from("text"));
        assertTrue(
                error.getMessage().contains("str") && error.getMessage().contains("io.vertx.core.buffer.Buffer"),
                error.getMessage());
        ElementType lists = ElementType.of(
                "java.util.List<io.vertx.core.buffer.Buffer>", getClass().getClassLoader());
        assertTrue(((List<?>) lists.from(new ArrayList<>(List.of(new byte[1])))).get(0) instanceof Buffer);
    }

    private static OutboundMessage message(Object properties) {
        Map<String, Object> dict =
                new LinkedHashMap<>(Map.of("exchange", "", "routing_key", "orders", "body", new byte[1]));
        dict.put("properties", properties);
        return (OutboundMessage)
                ElementType.of("reactor.rabbitmq.OutboundMessage", ForeignValuesTest.class.getClassLoader())
                        .from(dict);
    }

    @Test
    public void messagePropertiesAreConverted() {
        Map<String, Object> properties = new LinkedHashMap<>();
        properties.put("content_type", "text/plain");
        properties.put("delivery_mode", 2L);
        properties.put("headers", Map.of("tries", 3L));
        properties.put("timestamp", Instant.ofEpochMilli(5));
        OutboundMessage message = message(properties);
        assertEquals(List.of(message.exchange, message.routingKey), List.of("", "orders"));
        assertEquals(message.properties.text, "contentType=text/plain deliveryMode=2 headers={tries=3} timestamp=5");
        assertSame(message(message.properties).properties, message.properties);
        assertSame(message(null).properties, null);
    }

    @Test
    public void invalidPropertiesAreRejected() {
        Map<Object, String> wrong = Map.of(
                Map.of("contentType", "text/plain"),
                "[content_type, delivery_mode, headers, timestamp]",
                Map.of("delivery_mode", "2"),
                "a Python str does not fit java.lang.Integer",
                "text/plain",
                "a Python str does not fit com.rabbitmq.client.AMQP$BasicProperties");
        wrong.forEach((properties, words) -> {
            ConversionException error = expectThrows(ConversionException.class, () -> message(properties));
            assertTrue(error.getMessage().contains(words), error.getMessage());
        });
    }

    @Test
    public void missingElementTypeIsRejected() {
        expectThrows(
                IllegalArgumentException.class,
                () -> ElementType.of("akka.util.ByteString", getClass().getClassLoader()));
    }

    @Test
    public void copyKeepsReferences() {
        Object thing = new Object();
        List<?> copy = (List<?>) ValueCopy.of(Arrays.asList(1, thing, null), Conversion.AUTO);
        assertEquals(copy.get(0), 1L);
        assertSame(copy.get(1), thing);
        assertFalse(copy.get(0) instanceof Integer);
        assertSame(ValueCopy.of(null, Conversion.AUTO), null);
    }
}
