package io.pyrs.link.connection;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertTrue;
import static org.testng.Assert.expectThrows;

import io.pyrs.ObjectKind;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import io.pyrs.link.session.RecordingSubscriber;
import io.pyrs.link.session.Session;
import io.pyrs.link.session.StreamOptions;
import io.pyrs.value.Conversion;
import io.pyrs.value.ConversionException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.reactivestreams.Publisher;
import org.testng.annotations.AfterMethod;
import org.testng.annotations.BeforeMethod;
import org.testng.annotations.DataProvider;
import org.testng.annotations.Test;

/** A value that cannot be converted to Java fails its own call or stream; the link and the other streams continue. */
public class UnconvertibleValuesTest {
    private static final byte[] TOKEN = "a token that has thirty-two bytes".getBytes();
    private Connection connection;
    private FakePython python;
    private RecordingSubscriber other;

    @BeforeMethod
    public void open() throws Exception {
        connection = FakePython.listener(TOKEN, 30_000);
        connection.start();
        python = new FakePython(connection.port(), TOKEN);
        assertTrue(python.isProven());
        other = subscribe();
    }

    @AfterMethod(alwaysRun = true)
    public void close() throws IOException {
        python.close();
        connection.close();
    }

    private Session session() {
        return connection.session();
    }

    /** Opens a stream from Python with demand. The first has the id 2, the second 4. */
    private RecordingSubscriber subscribe() throws Exception {
        RecordingSubscriber recording = new RecordingSubscriber();
        session().subscribe(session().handles().receipt(ObjectKind.PUBLISHER, 7), recording, StreamOptions.DEFAULT);
        python.next(FrameType.SUBSCRIBE);
        recording.subscription.request(9);
        python.next(FrameType.REQUEST);
        assertEquals(recording.next(), List.of("on_subscribe"));
        return recording;
    }

    private void assertOtherStreamsLive() throws Exception {
        assertEquals(python.barrier("alive"), "alive");
        python.send(FrameType.NEXT, 2, List.of("flows"));
        assertEquals(other.next(), List.of("on_next", "flows"));
        assertTrue(connection.isOpen());
    }

    private static byte[] bytes(Object... parts) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (Object part : parts) {
            byte[] each = part instanceof byte[] ? (byte[]) part : new byte[] {((Integer) part).byteValue()};
            out.write(each, 0, each.length);
        }
        return out.toByteArray();
    }

    private static byte[] extension(int type, byte[] payload) {
        return bytes(0xc7, payload.length, type, payload);
    }

    /** Encodes {@code depth} nested lists in msgpack. */
    private static byte[] nested(int depth) {
        byte[] value = new byte[depth + 1];
        java.util.Arrays.fill(value, 0, depth, (byte) 0x91);
        return value;
    }

    @DataProvider
    public Object[][] values() {
        byte[] moment = ByteBuffer.allocate(16).array();
        byte[] zone = "Mars/Olympus".getBytes(StandardCharsets.UTF_8);
        return new Object[][] {
            {"an exponent beyond BigDecimal's", extension(2, "1E+3000000000".getBytes(StandardCharsets.UTF_8))},
            {"an unknown time zone", extension(6, bytes(moment, zone))},
            {
                "a date beyond LocalDate's",
                extension(3, ByteBuffer.allocate(8).putLong(Long.MAX_VALUE).array())
            },
            {"a dict with a tuple as a key", bytes(0x81, 0x92, 1, 2, 3)},
            {"lists nested too deeply", nested(513)},
            {"a set that contains a dict with a list as a key", extension(9, bytes(0x91, 0x81, 0x91, 1, 2))},
        };
    }

    @Test(dataProvider = "values", timeOut = 120_000)
    public void unconvertibleArgumentFailsItsCall(String name, byte[] value) throws Exception {
        python.send(Frames.frame(FrameType.CALL, 5, bytes(0x92, 0, 0x92, 1, value)));
        List<?> answer = (List<?>) python.decode(python.next(FrameType.RETURN).body);
        assertEquals(answer.get(0), false);
        assertEquals(((List<?>) answer.get(1)).get(2), ConversionException.class.getName());
        assertOtherStreamsLive();
    }

    /** A key whose {@code hashCode} waits for the future {@link #hash}, and throws if the future has failed. */
    private static final class SlowKey {
        final CountDownLatch hashed = new CountDownLatch(1);
        final CompletableFuture<Integer> hash = new CompletableFuture<>();

        @Override
        public int hashCode() {
            hashed.countDown();
            return hash.join();
        }

        @Override
        public boolean equals(Object other) {
            return this == other;
        }
    }

    /** Encodes a map and a set with a local object as their key and member. */
    private byte[] keyed(Object key) {
        long handle = session().handles().own(key);
        byte[] local = extension(
                17, ByteBuffer.allocate(9).put((byte) 0).putLong(handle).array());
        return bytes(0x92, 0x81, local, 1, extension(9, bytes(0x91, local)));
    }

    @Test(timeOut = 120_000)
    public void hashCodeOfAnArgumentRunsOnAWorker() throws Exception {
        SlowKey key = new SlowKey();
        python.send(Frames.frame(FrameType.CALL, 5, bytes(0x92, 0, 0x91, keyed(key))));
        key.hashed.await();
        assertOtherStreamsLive();
        key.hash.complete(7);
        List<?> answer = (List<?>) python.decode(python.next(FrameType.RETURN).body);
        assertEquals(answer.get(0), true);
    }

    @Test(timeOut = 120_000)
    public void hashCodeOfAResultRunsOnTheCallingThread() throws Exception {
        SlowKey key = new SlowKey();
        FutureTask<Object> call = new FutureTask<>(() -> {
            try {
                return session().call(session().handles().receipt(ObjectKind.OBJECT, 9), List.of(), Conversion.AUTO);
            } catch (Throwable error) {
                throw new AssertionError(error);
            }
        });
        new Thread(call).start();
        long id = python.next(FrameType.CALL).id;
        python.send(Frames.frame(FrameType.RETURN, id, bytes(0x92, 0xc3, keyed(key))));
        key.hashed.await();
        assertOtherStreamsLive();
        key.hash.complete(7);
        assertEquals(call.get(), List.of(Map.of(key, 1L), Set.of(key)));
    }

    @Test(timeOut = 120_000)
    public void hashCodeThatThrowsFailsItsCall() throws Exception {
        SlowKey key = new SlowKey();
        key.hash.completeExceptionally(new IllegalStateException());
        python.send(Frames.frame(FrameType.CALL, 5, bytes(0x92, 0, 0x91, keyed(key))));
        List<?> answer = (List<?>) python.decode(python.next(FrameType.RETURN).body);
        assertEquals(((List<?>) answer.get(1)).get(2), ConversionException.class.getName());
        assertOtherStreamsLive();
    }

    @Test(dataProvider = "values", timeOut = 120_000)
    public void unconvertibleResultFailsItsCall(String name, byte[] value) throws Exception {
        FutureTask<Throwable> call =
                new FutureTask<>((Callable<Throwable>) () -> expectThrows(ConversionException.class, () -> session()
                        .call(session().handles().receipt(ObjectKind.OBJECT, 9), List.of(), Conversion.AUTO)));
        new Thread(call).start();
        long id = python.next(FrameType.CALL).id;
        python.send(Frames.frame(FrameType.RETURN, id, bytes(0x92, 0xc3, value)));
        assertTrue(call.get().getMessage().contains("cannot be converted to Java"));
        assertOtherStreamsLive();
    }

    @Test(dataProvider = "values", timeOut = 120_000)
    public void unconvertibleOptionFromPythonFailsItsSubscription(String name, byte[] value) throws Exception {
        Publisher<Object> never = subscriber -> {};
        byte[] options = bytes(0x81, 0xa7, "convert".getBytes(), value);
        python.send(Frames.frame(
                FrameType.SUBSCRIBE, 1, bytes(0x92, (int) session().handles().own(never), options)));
        Throwable error = python.decodeError(python.next(FrameType.ERROR).body);
        assertTrue(error.getMessage().contains("cannot be converted to Java"), error.getMessage());
        assertOtherStreamsLive();
    }

    /** Neither hashCode nor toString of an option's object runs, because both may block the reader. */
    @Test(timeOut = 120_000)
    public void objectAsOptionFailsItsSubscription() throws Exception {
        Object key = new Object() {
            @Override
            public int hashCode() {
                throw new AssertionError("hashed");
            }

            @Override
            public String toString() {
                throw new AssertionError("printed");
            }
        };
        Publisher<Object> never = subscriber -> {};
        long handle = session().handles().own(never);
        byte[] local = extension(
                17,
                ByteBuffer.allocate(9)
                        .put((byte) 0)
                        .putLong(session().handles().own(key))
                        .array());
        for (byte[] value : new byte[][] {local, bytes(0x81, local, local)}) {
            byte[] options = bytes(0x81, 0xa7, "convert".getBytes(), value);
            python.send(Frames.frame(FrameType.SUBSCRIBE, 1, bytes(0x92, (int) handle, options)));
            Throwable error = python.decodeError(python.next(FrameType.ERROR).body);
            assertTrue(
                    error.getMessage()
                            .contains("class names to these words, not a "
                                    + getClass().getName()),
                    error.getMessage());
        }
        assertOtherStreamsLive();
    }

    @Test(timeOut = 120_000)
    public void optionWithALoneSurrogateFailsItsSubscription() throws Exception {
        StreamOptions options = StreamOptions.of(
                Map.of("convert", Map.of("\ud800", "values")), getClass().getClassLoader());
        RecordingSubscriber subscriber = new RecordingSubscriber();
        session().subscribe(session().handles().receipt(ObjectKind.PUBLISHER, 7), subscriber, options);
        assertEquals(subscriber.next(), List.of("on_subscribe"));
        assertTrue(subscriber.next().get(1).toString().contains("surrogate"));
        assertOtherStreamsLive();
        assertEquals(session().streamsLive(), 1);
    }

    /** Java uses only "exact" of an ON_SUBSCRIBE, so the reader looks up no class for another option. */
    @Test(timeOut = 120_000)
    public void undefinedOptionOfOnSubscribeIsIgnored() throws Exception {
        RecordingSubscriber subscriber = new RecordingSubscriber();
        python.send(
                FrameType.ON_SUBSCRIBE,
                1,
                List.of(session().handles().own(subscriber), Map.of("element_type", "no.such.Class")));
        assertEquals(subscriber.next(), List.of("on_subscribe"));
        python.send(Frames.frame(FrameType.COMPLETE, 1, Frames.NOTHING));
        assertEquals(subscriber.next(), List.of("on_complete"));
        assertOtherStreamsLive();
    }

    @Test(timeOut = 120_000)
    public void optionsThatExceedAFrameFailTheirSubscription() throws Exception {
        Map<String, String> classes = new HashMap<>();
        for (int i = 0; i < 9_000; i++) {
            classes.put("org.example.C" + i, "values");
        }
        StreamOptions options =
                StreamOptions.of(Map.of("convert", classes), getClass().getClassLoader());
        RecordingSubscriber subscriber = new RecordingSubscriber();
        session().subscribe(session().handles().receipt(ObjectKind.PUBLISHER, 7), subscriber, options);
        assertEquals(subscriber.next(), List.of("on_subscribe"));
        assertTrue(subscriber.next().get(1).toString().contains("name fewer classes"));
        assertOtherStreamsLive();
    }

    @Test(dataProvider = "values", timeOut = 120_000)
    public void unconvertibleElementFailsItsStream(String name, byte[] value) throws Exception {
        RecordingSubscriber recording = subscribe();
        python.send(Frames.frame(FrameType.NEXT, 4, bytes(0x92, 1, value)));
        assertEquals(recording.next(), List.of("on_next", 1L));
        assertEquals(recording.next().get(0), "on_error");
        assertEquals(recording.error.getClass(), ConversionException.class);
        assertOtherStreamsLive();
    }

    /** Decoding a set calls hashCode of a local object in it. */
    @Test(timeOut = 120_000)
    public void unhashableObjectFailsItsCall() throws Exception {
        Object hostile = new Object() {
            @Override
            public int hashCode() {
                throw new AssertionError("hashed");
            }
        };
        byte[] local = ByteBuffer.allocate(9)
                .put((byte) 0)
                .putLong(session().handles().own(hostile))
                .array();
        python.send(
                Frames.frame(FrameType.CALL, 5, bytes(0x92, 0, 0x91, extension(9, bytes(0x91, extension(17, local))))));
        assertEquals(((List<?>) python.decode(python.next(FrameType.RETURN).body)).get(0), false);
        assertOtherStreamsLive();
    }

    @Test(timeOut = 120_000)
    public void missingHandleFailsItsCall() throws Exception {
        byte[] unknown = ByteBuffer.allocate(9).put((byte) 0).putLong(99).array();
        python.send(Frames.frame(FrameType.CALL, 5, bytes(0x92, 0, 0x91, extension(17, unknown))));
        List<?> answer = (List<?>) python.decode(python.next(FrameType.RETURN).body);
        assertTrue(((List<?>) answer.get(1)).get(3).toString().contains("handle 99"), answer.toString());
        assertOtherStreamsLive();
    }

    @Test(timeOut = 120_000)
    public void valueNestedToTheLimitIsDelivered() throws Exception {
        byte[] deep = nested(512);
        python.send(Frames.frame(FrameType.CALL, 5, bytes(0x92, 0, 0x91, deep)));
        assertEquals(python.next(FrameType.RETURN).body, bytes(0x92, 0xc3, deep));
        assertOtherStreamsLive();
    }

    /** Handles of the peer after the bad value are released without a mirror. */
    @Test(timeOut = 120_000)
    public void handlesAfterBadValueAreReleased() throws Exception {
        byte[] peerObject = ByteBuffer.allocate(9).put((byte) 0).putLong(77).array();
        byte[] bad = bytes(0x81, 0x92, 1, 2, 3);
        python.send(Frames.frame(FrameType.CALL, 5, bytes(0x92, 0, 0x92, bad, extension(16, peerObject))));
        python.next(FrameType.RETURN);
        Map<Long, Integer> released = new HashMap<>();
        while (!released.containsKey(77L)) { // the collector may release other handles before, or in the same frame
            ByteBuffer body = ByteBuffer.wrap(python.next(FrameType.RELEASE).body);
            while (body.hasRemaining()) {
                released.merge(body.getLong(), body.getInt(), Integer::sum);
            }
        }
        assertEquals(released.get(77L), Integer.valueOf(1));
        assertOtherStreamsLive();
    }
}
