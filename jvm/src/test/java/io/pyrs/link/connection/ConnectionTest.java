package io.pyrs.link.connection;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertFalse;
import static org.testng.Assert.assertThrows;
import static org.testng.Assert.assertTrue;

import io.pyrs.LinkBrokenException;
import io.pyrs.LinkClosedException;
import io.pyrs.ObjectKind;
import io.pyrs.link.protocol.Frame;
import io.pyrs.link.protocol.FrameDecoder;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import io.pyrs.link.session.RecordingSubscriber;
import io.pyrs.link.session.Session;
import io.pyrs.link.session.StreamOptions;
import io.pyrs.value.Conversion;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Flow;
import java.util.concurrent.SubmissionPublisher;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import org.testng.annotations.AfterMethod;
import org.testng.annotations.BeforeMethod;
import org.testng.annotations.Test;

/** Tests the whole Java side of a link over its socket, against a test double of Python. */
public class ConnectionTest {
    private static final byte[] TOKEN = "a token that has thirty-two bytes".getBytes();
    private Connection connection;
    private FakePython python;

    private static Connection create() throws IOException {
        return FakePython.listener(TOKEN, 2_000);
    }

    @BeforeMethod
    public void open() throws IOException {
        connection = create();
        connection.start();
        python = new FakePython(connection.port(), TOKEN);
        assertTrue(python.isProven());
    }

    @AfterMethod(alwaysRun = true)
    public void close() throws IOException {
        python.close();
        connection.close();
    }

    private Session session() {
        return connection.session();
    }

    private RecordingSubscriber subscribe(long n) throws IOException {
        RecordingSubscriber recording = new RecordingSubscriber();
        session().subscribe(session().handles().receipt(ObjectKind.PUBLISHER, 7), recording, StreamOptions.DEFAULT);
        python.next(FrameType.SUBSCRIBE);
        if (n != 0) {
            recording.subscription.request(n);
            python.next(FrameType.REQUEST);
        }
        return recording;
    }

    private static void eventually(BooleanSupplier condition) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "the condition is not true in time");
            Thread.onSpinWait();
        }
    }

    @Test(timeOut = 120_000)
    public void closeThatPrecedesTheEndOfTheHandshakeClosesTheSocket() throws Exception {
        Connection closed = create();
        Connection.Opening opening = closed.new Opening();
        closed.close();
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket peer = new Socket(server.getInetAddress(), server.getLocalPort())) {
            peer.setSoTimeout(60_000);
            opening.connected(server.accept(), new FrameDecoder(Frames.MAX_LENGTH), List.of());
            assertEquals(peer.getInputStream().read(), -1);
        }
    }

    @Test(timeOut = 120_000)
    public void lostLinkEndsEveryStream() throws Exception {
        RecordingSubscriber waiting = subscribe(1);
        CountDownLatch cancelled = new CountDownLatch(1);
        Publisher<Object> endless = subscriber -> subscriber.onSubscribe(new Subscription() {
            @Override
            public void request(long n) {}

            @Override
            public void cancel() {
                cancelled.countDown();
            }
        });
        python.send(FrameType.SUBSCRIBE, 1, List.of(session().handles().own(endless), Map.of()));
        python.barrier(1L);
        python.close();
        assertEquals(waiting.next(), List.of("on_subscribe"));
        assertEquals(waiting.next().get(0), "on_error");
        assertEquals(waiting.error.getClass(), LinkBrokenException.class);
        assertTrue(cancelled.await(30, TimeUnit.SECONDS));
        assertFalse(connection.isOpen());
        // The reader ends the streams before it clears the handle tables.
        eventually(() -> session().handles().ownedCount() == 0);
    }

    @Test(timeOut = 120_000)
    public void closeEndsEveryStreamWithLinkClosed() throws Exception {
        RecordingSubscriber waiting = subscribe(1);
        connection.close();
        assertEquals(waiting.next(), List.of("on_subscribe"));
        assertEquals(waiting.next().get(0), "on_error");
        assertEquals(waiting.error.getClass(), LinkClosedException.class);
        assertEquals(python.next(FrameType.GOAWAY).type, FrameType.GOAWAY);
        RecordingSubscriber late = new RecordingSubscriber();
        session().subscribe(session().handles().receipt(ObjectKind.PUBLISHER, 7), late, StreamOptions.DEFAULT);
        assertEquals(late.next(), List.of("on_subscribe"));
        assertEquals(late.next().get(0), "on_error");
        assertEquals(session().streamsLive(), 0);
    }

    @Test(timeOut = 120_000)
    public void malformedFrameEndsTheLinkWithGoAway() throws Exception {
        RecordingSubscriber waiting = subscribe(1);
        python.send(new byte[] {0, 0, 0, 1, 1});
        Frame goAway = python.next(FrameType.GOAWAY);
        assertEquals(((List<?>) python.decode(goAway.body)).get(0), 2L);
        assertEquals(waiting.next(), List.of("on_subscribe"));
        assertEquals(waiting.next().get(0), "on_error");
    }

    @Test(timeOut = 120_000)
    public void reasonOfABrokenLinkIsTheFirstGoAway() throws Exception {
        RecordingSubscriber waiting = subscribe(1);
        python.send(FrameType.GOAWAY, 0, List.of(1L, "the cause"));
        python.send(FrameType.GOAWAY, 0, List.of(0L, "closing"));
        python.close();
        assertEquals(waiting.next(), List.of("on_subscribe"));
        assertEquals(waiting.next().get(0), "on_error");
        assertTrue(waiting.error.getMessage().contains("the cause (code 1)"), waiting.error.getMessage());
    }

    @Test(timeOut = 120_000)
    public void randomFramesNeverHang() throws Exception {
        Random random = new Random(7);
        FrameType[] types = FrameType.values();
        for (int round = 0; round < 60; round++) {
            byte[] body = new byte[random.nextInt(40)];
            random.nextBytes(body);
            if (!connection.isOpen() || round % 10 == 9) {
                close();
                open();
            }
            try {
                python.send(Frames.frame(types[random.nextInt(types.length)], random.nextInt(4), body));
                python.barrier(1L);
            } catch (IOException ended) {
                // The frame was rejected, so the link ends soon.
                eventually(() -> !connection.isOpen());
            }
        }
    }

    @Test(timeOut = 120_000)
    public void framesOfFinishedStreamsAreDropped() throws Exception {
        python.send(FrameType.NEXT, 2, List.of(1L));
        python.send(Frames.frame(FrameType.COMPLETE, 2, Frames.NOTHING));
        python.send(Frames.frame(FrameType.CANCEL, 1, Frames.NOTHING));
        python.send(Frames.request(1, 5));
        python.send(FrameType.RETURN, 5, Arrays.asList(true, null));
        assertEquals(python.barrier("still here"), "still here");
    }

    @Test(timeOut = 120_000)
    public void largeElementDoesNotDelayOtherStreams() throws Exception {
        byte[] large = new byte[50_000_000];
        new Random(3).nextBytes(large);
        SubmissionPublisher<Object> source = new SubmissionPublisher<>();
        SubmissionPublisher<Object> other = new SubmissionPublisher<>();
        python.send(FrameType.SUBSCRIBE, 1, List.of(session().handles().own(source), Map.of()));
        python.send(FrameType.SUBSCRIBE, 3, List.of(session().handles().own(other), Map.of()));
        python.send(Frames.request(1, 16));
        python.send(Frames.request(3, 16));
        while (!source.hasSubscribers() || !other.hasSubscribers()) {
            Thread.onSpinWait();
        }
        source.submit(large);
        while ((long) session().stats().get("bytes_out") < 100_000) {
            Thread.onSpinWait();
        }
        other.submit(5L);
        while (other.estimateMaximumLag() > 0) { // the rest of the large element waits, because nothing is read yet
            Thread.onSpinWait();
        }
        assertEquals(python.next(FrameType.NEXT).id, 3L);
        Frame frame = python.next(FrameType.NEXT);
        assertEquals(frame.id, 1L);
        assertTrue(Arrays.equals((byte[]) ((List<?>) python.decode(frame.body)).get(0), large));
        source.close();
        other.close();
    }

    /** A peer that does not read, such as a stopped process, must not cost processor time. */
    @Test(timeOut = 120_000)
    public void writerThreadWaitsWhileAnotherThreadIsBlockedInAWrite() throws Exception {
        CountDownLatch rounds = new CountDownLatch(1_000);
        Connection each = FakePython.listener(TOKEN, 2_000, rounds::countDown);
        each.start();
        try (FakePython peer = new FakePython(each.port(), TOKEN)) {
            assertTrue(peer.isProven());
            Thread emitting = new Thread(() -> {
                while (each.isOpen()) {
                    each.session().outbox().control(Frames.frame(FrameType.NEXT, 2, new byte[Frames.MAX_BODY]));
                    each.session().outbox().flush();
                }
            });
            emitting.setDaemon(true);
            emitting.start();
            for (int frames = 0; frames < 100; frames++) {
                each.session().outbox().control(Frames.request(2, 1)); // remains queued while the thread is blocked
                assertFalse(rounds.await(20, TimeUnit.MILLISECONDS), "the writer thread does not wait");
            }
        } finally {
            each.close();
        }
    }

    @Test(timeOut = 120_000)
    public void callTimesOutAndLateAnswerIsDropped() throws Exception {
        long began = System.nanoTime();
        assertThrows(TimeoutException.class, () -> session()
                .call(session().handles().receipt(ObjectKind.OBJECT, 9), List.of(1L), Conversion.AUTO));
        assertTrue(System.nanoTime() - began < TimeUnit.SECONDS.toNanos(30)); // the deadline is two seconds
        long id = python.next(FrameType.CALL).id;
        python.send(FrameType.RETURN, id, Arrays.asList(true, 1L));
        assertEquals(python.barrier(1L), 1L);
    }

    @Test(timeOut = 120_000)
    public void blockedSubscribersDoNotDelayOtherStreams() throws Exception {
        CountDownLatch release = new CountDownLatch(1);
        AtomicInteger blocked = new AtomicInteger();
        List<Long> ids = new ArrayList<>();
        for (int i = 0; i < 64; i++) {
            session()
                    .subscribe(
                            session().handles().receipt(ObjectKind.PUBLISHER, 7),
                            new Flow.Subscriber<Object>() {
                                @Override
                                public void onSubscribe(Flow.Subscription subscription) {
                                    subscription.request(1);
                                }

                                @Override
                                public void onNext(Object element) {
                                    blocked.incrementAndGet();
                                    try {
                                        release.await();
                                    } catch (InterruptedException interrupted) {
                                        Thread.currentThread().interrupt();
                                    }
                                }

                                @Override
                                public void onError(Throwable error) {}

                                @Override
                                public void onComplete() {}
                            },
                            StreamOptions.DEFAULT);
            long id = python.next(FrameType.SUBSCRIBE).id;
            ids.add(id);
            python.next(FrameType.REQUEST);
            python.send(FrameType.NEXT, id, List.of(1L));
        }
        RecordingSubscriber free = subscribe(1);
        python.send(FrameType.NEXT, ids.get(63) + 2, List.of("flows"));
        assertEquals(free.next(2), List.of(List.of("on_subscribe"), List.of("on_next", "flows")));
        eventually(() -> blocked.get() == 64);
        release.countDown();
    }

    /** When notified, the bridge drops the results of control calls, in which mirrors keep the bridge reachable. */
    @Test(timeOut = 120_000)
    public void endOfLinkIsNotifiedOnce() throws Exception {
        for (String closingSide : List.of("python", "java")) {
            AtomicInteger ends = new AtomicInteger();
            Connection each = new Connection(
                    "ends",
                    TOKEN,
                    reference -> reference,
                    ConnectionTest.class.getClassLoader(),
                    4096,
                    256,
                    2_000,
                    () -> {},
                    ends::incrementAndGet);
            each.start();
            try (FakePython peer = new FakePython(each.port(), TOKEN)) {
                assertTrue(peer.isProven());
                if (closingSide.equals("java")) {
                    each.close();
                }
            }
            eventually(() -> ends.get() != 0);
            each.close();
            assertEquals(ends.get(), 1, closingSide);
        }
    }

    @Test(timeOut = 120_000)
    public void threadsEndWithTheLink() throws Exception {
        subscribe(1);
        connection.close();
        eventually(() -> Thread.getAllStackTraces().keySet().stream()
                .noneMatch(thread -> thread.getName().startsWith("pyrs-test-")));
    }
}
