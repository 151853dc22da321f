package io.pyrs.link.session;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertThrows;
import static org.testng.Assert.assertTrue;

import io.pyrs.ObjectKind;
import io.pyrs.PeerReference;
import io.pyrs.link.protocol.Frame;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.value.ErrorCodec;
import io.pyrs.value.SentErrors;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import org.springframework.core.io.buffer.PooledDataBuffer;
import org.testng.annotations.BeforeMethod;
import org.testng.annotations.Test;

/** Tests a stream to Python whose Publisher breaks a rule or fails, and one whose source emits inside request. */
public class PublisherFaultsTest {
    private DirectSession direct;
    private OutboundStream stream;

    @BeforeMethod
    public void open() {
        direct = new DirectSession(4096);
        stream = direct.session.openTo(
                new PeerReference(direct.session.handles(), ObjectKind.SUBSCRIBER, 7), StreamOptions.DEFAULT);
        assertEquals(direct.sent.poll().type, FrameType.ON_SUBSCRIBE);
    }

    private static final class RecordingSubscription implements Subscription {
        final List<Long> requests = new ArrayList<>();
        final AtomicInteger cancels = new AtomicInteger();
        private final Consumer<Long> onRequest;

        RecordingSubscription() {
            this(n -> {});
        }

        RecordingSubscription(Consumer<Long> onRequest) {
            this.onRequest = onRequest;
        }

        @Override
        public void request(long n) {
            requests.add(n);
            onRequest.accept(n);
        }

        @Override
        public void cancel() {
            cancels.incrementAndGet();
        }
    }

    private String error() {
        Frame frame = direct.sent.pollLast();
        assertEquals(frame.type.name(), "ERROR");
        return new ErrorCodec(new SentErrors()).decode(frame.body).getMessage();
    }

    @Test
    public void elementAfterCancelIsReleased() {
        AtomicInteger released = new AtomicInteger();
        PooledDataBuffer buffer = (PooledDataBuffer) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {PooledDataBuffer.class}, (proxy, method, arguments) -> {
                    assertEquals(method.getName(), "release");
                    return released.incrementAndGet() == 1;
                });
        StreamOptions values =
                StreamOptions.of(Map.of("convert", "values"), getClass().getClassLoader());
        OutboundStream valueStream =
                direct.session.openTo(new PeerReference(direct.session.handles(), ObjectKind.SUBSCRIBER, 8), values);
        valueStream.onSubscribe(new RecordingSubscription());
        valueStream.receiveRequest(5);
        valueStream.receiveCancel();
        valueStream.onNext(buffer);
        assertEquals(released.get(), 1);
    }

    @Test
    public void nullElementThrowsAndEndsTheStream() {
        RecordingSubscription upstream = new RecordingSubscription();
        stream.onSubscribe(upstream);
        stream.receiveRequest(5);
        assertThrows(NullPointerException.class, () -> stream.onNext(null));
        assertTrue(error().contains("2.13"));
        assertEquals(upstream.cancels.get(), 1);
        assertEquals(direct.session.streamsLive(), 0);
    }

    @Test
    public void nullElementThrowsAlsoAfterCancel() {
        stream.onSubscribe(new RecordingSubscription());
        stream.receiveRequest(5);
        stream.receiveCancel();
        assertThrows(NullPointerException.class, () -> stream.onNext(null)); // rule 2.13
        assertEquals(direct.session.stats().get("dropped"), 0L);
    }

    /**
     * After a cancel, requested elements and a terminal signal are legal (rule 2.8). Further terminal signals are not
     * (rule 1.7).
     */
    @Test
    public void onlyFurtherTerminalSignalsAreReported() {
        List<String> warnings = new ArrayList<>();
        Thread here = Thread.currentThread();
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord record) {
                if (Thread.currentThread() == here) { // threads of another test may still log
                    warnings.add(record.getMessage());
                }
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        Logger logger = Logger.getLogger("io.pyrs");
        logger.addHandler(handler);
        try {
            stream.onSubscribe(new RecordingSubscription());
            stream.receiveRequest(5);
            assertThrows(NullPointerException.class, () -> stream.onNext(null));
            stream.onComplete();
            assertEquals(warnings, List.of());
            stream.onComplete();
            stream.onError(new IllegalStateException("again"));
        } finally {
            logger.removeHandler(handler);
        }
        assertTrue(error().contains("2.13"));
        assertEquals(warnings.size(), 2, warnings.toString());
        assertTrue(
                warnings.get(0).contains("rule 1.7: onComplete")
                        && warnings.get(1).contains("rule 1.7: onError"),
                warnings.toString());
    }

    @Test
    public void elementBeforeOnSubscribeEndsTheStream() {
        stream.onNext(1L);
        assertTrue(error().contains("1.9"));
    }

    @Test
    public void concurrentSignalsEndTheStream() throws Exception {
        signalConcurrently(() -> 1L);
    }

    /** The writer finds the gate occupied when it must send the error, and is notified although the emitter fails. */
    @Test
    public void concurrentSignalsEndTheStreamAlsoIfAnElementIsUnconvertible() throws Exception {
        signalConcurrently(() -> {
            throw new IllegalStateException("no content");
        });
    }

    /** Calls onNext while another onNext encodes a list with this content. */
    private void signalConcurrently(Supplier<Object> content) throws Exception {
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        RecordingSubscription upstream = new RecordingSubscription();
        stream.onSubscribe(upstream);
        stream.receiveRequest(5);
        // A list that blocks the encoder keeps the first onNext inside the gate.
        List<Object> slow = new java.util.AbstractList<>() {
            @Override
            public Object get(int index) {
                inside.countDown();
                try {
                    go.await(30, TimeUnit.SECONDS);
                } catch (InterruptedException error) {
                    throw new IllegalStateException(error);
                }
                return content.get();
            }

            @Override
            public int size() {
                return 1;
            }
        };
        Thread first = new Thread(() -> stream.onNext(slow));
        first.start();
        assertTrue(inside.await(30, TimeUnit.SECONDS));
        stream.onNext(2L);
        go.countDown();
        first.join();
        assertTrue(error().contains("1.3"));
        assertEquals(upstream.cancels.get(), 1);
    }

    @Test
    public void unconvertibleValueEndsTheStreamAndNamesTheType() {
        RecordingSubscription upstream = new RecordingSubscription();
        stream.onSubscribe(upstream);
        stream.receiveRequest(5);
        stream.onNext("\ud800");
        assertTrue(error().contains("java.lang.String"));
        assertEquals(upstream.cancels.get(), 1);
    }

    @Test
    public void throwingGetterEndsTheStreamAndOnNextReturns() {
        RecordingSubscription upstream = new RecordingSubscription();
        stream.onSubscribe(upstream);
        stream.receiveRequest(5);
        stream.onNext(new java.util.AbstractList<Object>() {
            @Override
            public Object get(int index) {
                throw new NullPointerException(); // without a message
            }

            @Override
            public int size() {
                return 1;
            }
        });
        assertTrue(error().contains("NullPointerException"));
        assertEquals(upstream.cancels.get(), 1);
    }

    /** An error whose getStackTrace returns null reaches the Subscriber, and onError does not throw. */
    @Test
    public void errorWithoutStackTraceReachesTheSubscriber() {
        stream.onSubscribe(new RecordingSubscription());
        stream.receiveRequest(5);
        stream.onError(new IllegalStateException("broken") {
            private static final long serialVersionUID = 1L;

            @Override
            public StackTraceElement[] getStackTrace() {
                return null;
            }
        });
        assertTrue(error().contains("broken"));
        assertEquals(direct.session.streamsLive(), 0);
    }

    @Test
    public void failingDrainIsReportedAndRunsAgain() {
        List<String> runs = new ArrayList<>();
        DrainLoop loop = new DrainLoop(Runnable::run) {
            @Override
            void drain() {
                runs.add("drain");
                throw new StackOverflowError();
            }

            @Override
            void fail(Throwable error) {
                runs.add("failed");
                throw new AssertionError();
            }
        };
        loop.schedule();
        loop.schedule();
        assertEquals(runs, List.of("drain", "failed", "drain", "failed"));
    }

    @Test
    public void secondSubscriptionIsCancelledAndFirstContinues() {
        RecordingSubscription first = new RecordingSubscription();
        RecordingSubscription second = new RecordingSubscription();
        stream.onSubscribe(first);
        stream.onSubscribe(second);
        stream.receiveRequest(3);
        assertEquals(second.cancels.get(), 1);
        assertEquals(first.requests, List.of(3L));
    }

    @Test
    public void creditReachesSourceThatEmitsInsideRequest() {
        Subscriber<Object> target = stream;
        List<Long> requestedInside = new ArrayList<>(); // checked later: the stream would catch an AssertionError
        RecordingSubscription[] holder = new RecordingSubscription[1];
        holder[0] = new RecordingSubscription(n -> {
            if (holder[0].requests.size() > 1) {
                return;
            }
            target.onNext(1L);
            stream.receiveRequest(4);
            target.onNext(2L); // forwards request(4) on this thread
            requestedInside.addAll(holder[0].requests);
        });
        stream.onSubscribe(holder[0]);
        stream.receiveRequest(2);
        assertEquals(requestedInside, List.of(2L, 4L));
        assertEquals(holder[0].requests, List.of(2L, 4L));
    }

    @Test
    public void cancelReachesSourceThatEmitsInsideRequest() {
        AtomicInteger cancelsInside = new AtomicInteger(); // checked later: the stream would catch an AssertionError
        RecordingSubscription[] holder = new RecordingSubscription[1];
        holder[0] = new RecordingSubscription(n -> {
            stream.onNext(1L);
            stream.receiveCancel();
            stream.onNext(2L);
            cancelsInside.set(holder[0].cancels.get());
        });
        stream.onSubscribe(holder[0]);
        stream.receiveRequest(Long.MAX_VALUE);
        assertEquals(cancelsInside.get(), 1);
        assertEquals(holder[0].cancels.get(), 1);
        assertEquals(direct.session.streamsLive(), 0);
    }

    @Test
    public void throwingRequestEndsTheStream() {
        stream.onSubscribe(new RecordingSubscription(n -> {
            throw new IllegalStateException("request failed");
        }));
        stream.receiveRequest(1);
        assertTrue(error().contains("request failed"));
    }

    @Test
    public void reusedBufferIsReadInsideOnNext() {
        stream.onSubscribe(new RecordingSubscription());
        stream.receiveRequest(3);
        byte[] buffer = {1};
        stream.onNext(buffer);
        buffer[0] = 2;
        stream.onNext(buffer);
        buffer[0] = 3;
        stream.onNext(buffer);
        List<Byte> seen = new ArrayList<>();
        for (Frame frame : direct.sent) {
            ((List<?>) direct.session.codec().decode(frame.body)).forEach(each -> seen.add(((byte[]) each)[0]));
        }
        assertEquals(seen, List.of((byte) 1, (byte) 2, (byte) 3));
    }

    @Test
    public void handlesOfUnsentElementsAreReleased() {
        // While the writer executes a source, emitted elements stay in the buffer, and the cancel drops them.
        stream.onSubscribe(new RecordingSubscription());
        stream.receiveRequest(10);
        direct.session.outbox().ready(new Outbox.Source() {
            @Override
            boolean take(Outbox outbox) {
                stream.onNext(new Object());
                stream.onNext(new Object());
                assertEquals(direct.session.handles().ownedCount(), 2);
                stream.receiveCancel();
                return false;
            }
        });
        direct.session.outbox().write();
        assertEquals(direct.session.handles().ownedCount(), 0);
    }
}
