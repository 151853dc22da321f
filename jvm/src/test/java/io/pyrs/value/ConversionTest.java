package io.pyrs.value;

import static java.nio.file.StandardOpenOption.DELETE_ON_CLOSE;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertFalse;
import static org.testng.Assert.assertNull;
import static org.testng.Assert.assertSame;
import static org.testng.Assert.assertTrue;
import static org.testng.Assert.expectThrows;

import io.pyrs.Limits;
import io.pyrs.Vectors;
import java.io.File;
import java.io.IOException;
import java.io.Writer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalTime;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TimeZone;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.SubmissionPublisher;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.reactivestreams.Subscription;
import org.testng.SkipException;
import org.testng.annotations.Test;

/** Tests which classes are sent as values and which as references, and the state after an element that fails. */
public class ConversionTest {
    /** A bean with two properties. */
    public static class Bean {
        public String getName() {
            return "n";
        }

        public boolean isReady() {
            return true;
        }

        public String gettysburg() {
            return "no property";
        }
    }

    /** Is not public, so a public subclass has bridge methods for its getters. */
    static class Numbered {
        public long getNumber() {
            return 7;
        }
    }

    /** A bean that inherits a property. */
    public static class Inheriting extends Numbered {
        public String getName() {
            return "n";
        }
    }

    /** A bean whose getter fails. */
    public static final class Broken {
        public String getName() {
            throw new IllegalStateException("closed");
        }
    }

    /** Implements Queue for its library only, as Subscriptions of Reactor do. */
    private static final class QueueSubscription extends ArrayDeque<Object> implements Subscription, Flow.Subscription {
        private static final long serialVersionUID = 1L;

        @Override
        public Object[] toArray() {
            throw new UnsupportedOperationException("internal");
        }

        @Override
        public void request(long n) {}

        @Override
        public void cancel() {}
    }

    private final RecordingReferences references = new RecordingReferences();

    private Object roundTrip(Object value, Object convert) {
        ValueBuffer out = new ValueBuffer();
        new ValueEncoder(references, Conversion.of(convert)).encode(value, out);
        return new ValueDecoder(new RecordingReferences(), null).decode(out.take());
    }

    private boolean isReference(Object value, Object convert) {
        return roundTrip(value, convert) instanceof RecordingReferences.Mirror;
    }

    private String conversionError(Object value, Object convert) {
        return expectThrows(ConversionException.class, () -> roundTrip(value, convert))
                .getMessage();
    }

    @Test
    public void autoSendsTableClassesAsValuesAndOthersByReference() {
        assertEquals(roundTrip(new Bean(), null).getClass(), RecordingReferences.Mirror.class);
        assertTrue(isReference(new StringBuilder("mutable"), "auto"));
        assertTrue(isReference(new CompletableFuture<>(), "auto"));
        assertEquals(roundTrip(List.of(1), "auto"), List.of(1L));
    }

    @Test
    public void subscriptionThatIsAQueueIsSentByReference() {
        assertTrue(isReference(new QueueSubscription(), "auto"));
    }

    @Test
    public void referencesModeSendsOnlyScalarsAsValues() {
        assertTrue(isReference(List.of(1), "references"));
        assertTrue(isReference(Map.of(), "references"));
        assertTrue(isReference(new long[0], "references"));
        assertTrue(isReference(Optional.of(1), "references"));
        assertEquals(roundTrip(1, "references"), 1L);
        assertEquals(roundTrip("a", "references"), "a");
        assertEquals(roundTrip(new byte[] {1}, "references"), new byte[] {1});
    }

    @Test
    public void valuesModeDoesNotChangeTheObject() {
        Map<?, ?> value = (Map<?, ?>) roundTrip(new AtomicLong(3), "values");
        assertEquals(value.get("plain"), 3L); // getPlain()
        assertFalse(value.containsKey("andIncrement"), value.toString()); // getAndIncrement()
    }

    @Test
    public void valuesModeReadsGettersOrNamesTheClass() {
        assertEquals(roundTrip(new Bean(), "values"), Map.of("name", "n", "ready", true));
        assertEquals(roundTrip(List.of(new Bean()), "values"), List.of(Map.of("name", "n", "ready", true)));
        assertTrue(conversionError(new Object(), "values").contains("java.lang.Object"));
        assertTrue(conversionError(new SubmissionPublisher<>(), "values").contains("SubmissionPublisher"));
        assertTrue(conversionError(Stream.of(1), "values").contains("no getters"));
        assertTrue(conversionError(new StringBuilder("text"), "values").contains("no getters"));
        String broken = conversionError(new Broken(), "values");
        assertTrue(broken.contains("Broken") && broken.contains("getName"), broken);
        assertEquals(roundTrip(new RecordingReferences.OfPeer(), "values"), new RecordingReferences.Mirror("local 9"));
    }

    @Test
    public void valuesModeReadsGettersOfSuperclassesThatAreNotPublic() {
        assertEquals(roundTrip(new Inheriting(), "values"), Map.of("name", "n", "number", 7L));
    }

    @Test
    public void valuesModeReadsGettersThatAnAccessibleSupertypeDeclares() {
        Map<String, Object> entry = Map.of("key", "k", "value", 1L);
        assertEquals(
                roundTrip(new HashMap<>(Map.of("k", 1)).entrySet().iterator().next(), "values"), entry);
        assertEquals(roundTrip(Map.entry("k", 1), "values"), entry);
        // The class of a time zone is not exported, and overrides some of the getters of TimeZone.
        Map<?, ?> zone = (Map<?, ?>) roundTrip(TimeZone.getTimeZone("GMT+2"), "values");
        assertEquals(zone.get("ID"), "GMT+02:00");
        assertEquals(zone.get("rawOffset"), 7_200_000L);
    }

    @Test
    public void valuesModeNeitherOpensAddressesNorReadsFiles() throws IOException {
        assertEquals(roundTrip(new URL("http://127.0.0.1:1/x"), "values"), "http://127.0.0.1:1/x");
        assertEquals(roundTrip(new File("a/b"), "values"), new File("a/b").getPath());
        InetAddress address = InetAddress.getByAddress(new byte[] {127, 0, 0, 1});
        assertEquals(
                roundTrip(new InetSocketAddress(address, 80), "values"),
                Map.of("address", "127.0.0.1", "hostString", "127.0.0.1", "port", 80L, "unresolved", false));
    }

    @Test
    public void sqlTimeKeepsItsMilliseconds() {
        for (int day = -1; day <= 1; day++) {
            long millis = java.sql.Time.valueOf("23:59:58").getTime() + day * 86_400_000L + 123;
            assertEquals(roundTrip(new java.sql.Time(millis), "auto"), LocalTime.of(23, 59, 58, 123_000_000));
        }
    }

    @Test
    public void mapAppliesToItsClassesAndTheirSubclasses() {
        Map<String, String> modes = Map.of(Bean.class.getName(), "values", "java.util.List", "references");
        assertEquals(roundTrip(new Bean() {}, modes), Map.of("name", "n", "ready", true));
        assertTrue(isReference(new ArrayList<>(), modes));
        assertTrue(isReference(new Broken(), modes));
        assertEquals(roundTrip(Map.of(), modes), Map.of());
        assertEquals(roundTrip("text", Map.of("java.lang.String", "references")), "text"); // a scalar is always a value
    }

    @Test
    public void mapAcceptsTheSourceNamesOfNestedClassesAndArrays() {
        Map<String, String> modes = Map.of(Bean.class.getCanonicalName(), "values", "long[]", "references");
        assertEquals(roundTrip(new Bean() {}, modes), Map.of("name", "n", "ready", true));
        assertTrue(isReference(new long[0], modes));
        assertEquals(roundTrip(new int[0], modes), List.of());
        for (String name :
                List.of(Bean[].class.getName(), Bean[].class.getTypeName(), Bean[].class.getCanonicalName())) {
            assertTrue(isReference(new Bean[0], Map.of(name, "references")), name);
        }
    }

    @Test
    public void unknownOptionIsRejected() {
        expectThrows(IllegalArgumentException.class, () -> Conversion.of("everything"));
        expectThrows(IllegalArgumentException.class, () -> Conversion.of(Map.of("a.B", "auto?")));
        assertSame(Conversion.of(null), Conversion.of("auto"));
    }

    @Test
    public void writerOfClassIsCached() {
        Conversion conversion = Conversion.of(Map.of("a.B", "values"));
        assertSame(conversion.writerOf(Bean.class), conversion.writerOf(Bean.class));
    }

    @Test
    public void recordIsEncodedAsItsComponentsByName() throws Exception {
        if (Runtime.version().feature() < 16) {
            throw new SkipException("this JVM has no records");
        }
        Path folder = Files.createTempDirectory("record");
        Path source = folder.resolve("Pair.java");
        try (Writer writer = Files.newBufferedWriter(source)) {
            writer.write("record Pair(int a, String b) {}");
        }
        int failed =
                ToolProvider.getSystemJavaCompiler().run(null, null, null, "-d", folder.toString(), source.toString());
        assertEquals(failed, 0);
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
            var constructor = loader.loadClass("Pair").getDeclaredConstructor(int.class, String.class);
            constructor.setAccessible(true);
            Object pair = constructor.newInstance(1, null);
            assertEquals(new ArrayList<>(((Map<?, ?>) roundTrip(pair, "auto")).entrySet()).toString(), "[a=1, b=null]");
            assertTrue(isReference(pair, "references"));
            // The same bytes as the dict in the vectors.
            ValueBuffer out = new ValueBuffer();
            new ValueEncoder(references, Conversion.AUTO).encode(pair, out);
            assertEquals(Vectors.hex(out.take()), dictOfTheVectors());
        }
    }

    private static Object dictOfTheVectors() throws IOException {
        return Vectors.read("values.json").stream()
                .filter(row -> row.get("name").equals("dict"))
                .findFirst()
                .orElseThrow()
                .get("hex");
    }

    @Test
    public void emptyOptionalIsRejectedAsElementButAllowedInside() {
        assertTrue(conversionError(Optional.empty(), "auto").contains("java.util.Optional"));
        assertTrue(conversionError(OptionalInt.empty(), "auto").contains("java.util.OptionalInt"));
        assertEquals(roundTrip(Optional.of(5), "auto"), 5L);
        assertEquals(roundTrip(OptionalInt.of(5), "auto"), 5L);
        assertEquals(roundTrip(List.of(Optional.empty()), "auto"), ValueRows.list((Object) null));
    }

    @Test
    public void loneSurrogatesAreRejected() {
        for (String text : List.of("\ud800", "a\udc00", "\ud800a", "\ud800\ud800\udc00")) {
            assertTrue(conversionError(text, "auto").contains("lone surrogate"));
        }
        assertTrue(conversionError('\ud800', "auto").contains("lone surrogate"));
        assertEquals(roundTrip("\ud800\udc00", "auto"), "\ud800\udc00");
    }

    @Test
    public void cyclicContainersAreRejected() {
        List<Object> list = new ArrayList<>();
        list.add(list);
        Map<Object, Object> map = new HashMap<>();
        map.put("self", map);
        Object[] array = new Object[2];
        array[0] = array;
        for (Object cyclic : new Object[] {list, map, array}) {
            String text = conversionError(cyclic, "auto");
            assertTrue(
                    text.contains("contains itself")
                            && text.contains(cyclic.getClass().getName()),
                    text);
        }
    }

    @Test
    public void nestingIsLimitedInBothDirections() {
        Object deep = 1L;
        for (int i = 0; i < 512; i++) {
            deep = ValueRows.list(deep);
        }
        assertEquals(roundTrip(deep, "auto"), deep);
        Object deeper = ValueRows.list(deep);
        conversionError(deeper, "auto");
        byte[] bytes = new byte[514];
        java.util.Arrays.fill(bytes, (byte) 0x91);
        bytes[513] = 1;
        expectThrows(ConversionException.class, () -> new ValueDecoder(references, null).decode(bytes));
    }

    @Test
    public void containerAsDictKeyIsRejected() {
        Map<Object, Object> map = new HashMap<>();
        map.put(List.of(1), 1);
        assertTrue(conversionError(map, "auto").contains("key of a dict"));
    }

    @Test
    public void failedElementLeavesNoTrace() {
        ValueBuffer out = new ValueBuffer();
        ValueEncoder encoder = new ValueEncoder(references, Conversion.AUTO);
        encoder.encode(1, out);
        encoder.encode("x".repeat(10_000), out);
        int size = out.size();
        RecordingReferences recorder = new RecordingReferences();
        ValueEncoder failing = new ValueEncoder(recorder, Conversion.AUTO);
        expectThrows(
                ConversionException.class,
                () -> failing.encode(ValueRows.list(new Object(), "y".repeat(20_000), new Object(), "\ud800"), out));
        assertEquals(out.size(), size);
        assertEquals(recorder.disowned, List.of(8L, 7L));
        encoder.encode(2, out);
        ValueDecoder decoder = new ValueDecoder(references, null);
        byte[] body = out.takeBatch(3);
        assertEquals(decoder.beginBatch(body), 3);
        assertEquals(decoder.next(), 1L);
        assertEquals(decoder.next(), "x".repeat(10_000));
        assertEquals(decoder.next(), 2L);
        assertEquals(out.size(), 0);
    }

    @Test
    public void largeArrowBatchIsNotCopied() {
        byte[] stream = new byte[100_000];
        stream[99_999] = 7;
        ArrowBatch batch = new ArrowBatch(stream);
        ValueEncoder encoder = new ValueEncoder(references, Conversion.AUTO);
        ValueBuffer copying = new ValueBuffer();
        encoder.encode(batch, copying);
        byte[] expected = copying.takeBatch(1);

        ValueBuffer out = new ValueBuffer(256, 65_536);
        encoder.encode(batch, out);
        assertEquals(out.size(), expected.length - 1);
        ByteBuffer tail = out.takeTail();
        assertSame(tail.array(), batch.view().array());
        byte[] first = out.takeBatch(1);
        assertEquals(first.length + tail.remaining(), expected.length);
        encoder.encode(batch, out);
        assertTrue(Arrays.equals(out.takeBatch(1), expected)); // the tail was not taken separately
        assertNull(out.takeTail());
        encoder.encode(batch, out);
        out.reset();
        assertEquals(out.size(), 0);
        encoder.encode(List.of(batch, 1), out);
        assertNull(out.takeTail());
        out.reset();
        encoder.encode(new ArrowBatch(new byte[9]), out);
        assertNull(out.takeTail());

        ValueDecoder decoder = new ValueDecoder(references, null);
        decoder.beginBatch(expected);
        ArrowBatch received = (ArrowBatch) decoder.next();
        assertEquals(received, batch);
        assertEquals(received.hashCode(), batch.hashCode());
        assertSame(received.view().array(), expected);
        assertTrue(Arrays.equals(received.toBytes(), stream));
        assertEquals(received.toString(), "ArrowBatch[100000 bytes]");
    }

    @Test
    public void largestContentLeavesRoomForTheHeaderOfAnArray() throws IOException {
        int limit = Limits.of("message.bytes");
        Path file = Files.createTempFile("sparse", null);
        try (FileChannel channel = FileChannel.open(file, READ, WRITE, DELETE_ON_CLOSE)) {
            ByteBuffer content = channel.map(FileChannel.MapMode.READ_WRITE, 0, limit - 4); // takes no memory
            ValueBuffer out = new ValueBuffer(256, 65_536);
            expectThrows(ConversionException.class, () -> out.writeConstant(content, 0));
            content.limit(limit - 5);
            out.writeConstant(content, 0);
            assertEquals(out.size(), limit - 5);
        }
    }

    @Test
    public void valueIsNotReadAfterEncode() {
        byte[] reused = {1};
        ByteBuffer buffer = ByteBuffer.wrap(reused);
        ValueBuffer out = new ValueBuffer();
        ValueEncoder encoder = new ValueEncoder(references, Conversion.AUTO);
        for (int i = 0; i < 3; i++) {
            reused[0] = (byte) i;
            encoder.encode(buffer, out);
            assertEquals(buffer.position(), 0);
        }
        assertEquals(Vectors.hex(out.take(2, 3)), "000093" + "c40100" + "c40101" + "c40102");
    }

    @Test
    public void droppedBatchReleasesEachHandleOncePerReceipt() {
        ValueBuffer out = new ValueBuffer();
        ValueEncoder encoder = new ValueEncoder(references, Conversion.AUTO);
        encoder.encode(new Object(), out);
        encoder.encode(ValueRows.list(1, ValueRows.set(new Object()), ValueRows.map("k", new Object())), out);
        encoder.encode(new RecordingReferences.OfPeer(), out);
        byte[] body = out.takeBatch(3);
        ValueDecoder decoder = new ValueDecoder(new RecordingReferences(), null);
        List<Long> released = new ArrayList<>();
        decoder.beginBatch(body);
        decoder.releaseRest(released::add);
        int first = 6 + references.owned.size() - 2;
        assertEquals(released, List.of((long) first, first + 1L, first + 2L));
        decoder.beginBatch(body);
        decoder.next();
        released.clear();
        decoder.releaseRest(released::add);
        assertEquals(released, List.of(first + 1L, first + 2L));
        expectThrows(MalformedValueException.class, decoder::next);
    }
}
