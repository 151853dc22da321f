package io.pyrs.link.session;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertNotNull;
import static org.testng.Assert.assertNull;
import static org.testng.Assert.assertTrue;

import io.pyrs.LinkBrokenException;
import io.pyrs.LinkClosedException;
import io.pyrs.ObjectKind;
import io.pyrs.PeerReference;
import io.pyrs.Vectors;
import io.pyrs.link.protocol.Frame;
import io.pyrs.link.protocol.FrameDecoder;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import io.pyrs.value.ErrorCodec;
import io.pyrs.value.SentErrors;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import org.testng.annotations.DataProvider;
import org.testng.annotations.Test;
import reactor.core.CorePublisher;
import reactor.core.CoreSubscriber;
import reactor.util.context.Context;

/** Replays the shared conversations, each of one stream, on a session without a socket or threads. */
public class ConversationsTest {
    private static final long HANDLE = 7;

    @DataProvider
    public Iterator<Object[]> vectors() throws IOException {
        return Vectors.rows("conversations.json");
    }

    @Test(dataProvider = "vectors")
    public void replaysVector(String name, Map<String, Object> vector) {
        Object bound = vector.get("max_prefetch");
        Harness harness = new Harness(
                "consumer".equals(vector.get("end")),
                bound == null ? 4096 : (int) Vectors.number(bound),
                Boolean.TRUE.equals(vector.get("exact")));
        for (Object step : (List<?>) vector.get("steps")) {
            harness.step((Map<?, ?>) step);
        }
        harness.quiet();
    }

    /** Plays the parts of the user on this side and of the peer on the other side. */
    private static final class Harness implements CorePublisher<Object> {
        private final boolean consumer;
        private final boolean exact;
        private final DirectSession direct;
        private final RecordingSubscriber user = new RecordingSubscriber();
        private final Queue<List<Object>> calls = new ArrayDeque<>();
        private final ErrorCodec errors = new ErrorCodec(new SentErrors());
        private Subscriber<? super Object> upstream;
        private long id;

        Harness(boolean consumer, int maxPrefetch, boolean exact) {
            this.consumer = consumer;
            this.exact = exact;
            direct = new DirectSession(maxPrefetch);
            if (!consumer) {
                id = 1;
                for (int i = 1; i < HANDLE; i++) {
                    direct.session.handles().own(new Object());
                }
                assertEquals(direct.session.handles().own(this), HANDLE);
            }
        }

        /** Records the call, with the Context if the Subscriber is a CoreSubscriber. */
        @Override
        public void subscribe(Subscriber<? super Object> subscriber) {
            upstream = subscriber;
            if (subscriber instanceof CoreSubscriber) {
                Map<Object, Object> context = new HashMap<>();
                ((CoreSubscriber<? super Object>) subscriber)
                        .currentContext().stream().forEach(each -> context.put(each.getKey(), each.getValue()));
                calls.add(List.of("subscribe", context));
            } else {
                calls.add(List.of("subscribe"));
            }
        }

        @Override
        public void subscribe(CoreSubscriber<? super Object> subscriber) {
            subscribe((Subscriber<? super Object>) subscriber);
        }

        /** Forwards signals to the recording Subscriber, and has a Context. */
        private final class ContextualSubscriber implements CoreSubscriber<Object> {
            private final Context context;

            ContextualSubscriber(Map<?, ?> entries) {
                context = Context.of(entries);
            }

            @Override
            public Context currentContext() {
                return context;
            }

            @Override
            public void onSubscribe(Subscription subscription) {
                user.onSubscribe(subscription);
            }

            @Override
            public void onNext(Object element) {
                user.onNext(element);
            }

            @Override
            public void onError(Throwable error) {
                user.onError(error);
            }

            @Override
            public void onComplete() {
                user.onComplete();
            }
        }

        void step(Map<?, ?> step) {
            Map.Entry<?, ?> first = step.entrySet().iterator().next();
            Object value = first.getValue();
            switch ((String) first.getKey()) {
                case "user":
                    user((String) value, step);
                    break;
                case "upstream":
                    signal((String) value, step);
                    break;
                case "receive":
                    receive((List<?>) value);
                    break;
                case "sent":
                    sent((List<?>) value);
                    break;
                case "signal":
                    matches(user.signals.poll(), (List<?>) value);
                    break;
                case "upstream_sees":
                    matches(calls.poll(), (List<?>) value);
                    break;
                case "lost":
                    direct.session.lost(
                            "broken".equals(value)
                                    ? new LinkBrokenException("gone")
                                    : new LinkClosedException("closed"));
                    break;
                case "quiet":
                    quiet();
                    break;
                case "streams":
                    assertEquals(direct.session.streamsLive(), Vectors.number(value));
                    break;
                default:
                    throw new AssertionError("unknown step: " + step);
            }
        }

        private void user(String what, Map<?, ?> step) {
            switch (what) {
                case "subscribe":
                    StreamOptions options = StreamOptions.of(Map.of("exact", exact), null);
                    direct.session.subscribe(
                            new PeerReference(direct.session.handles(), ObjectKind.PUBLISHER, HANDLE),
                            step.containsKey("context")
                                    ? new ContextualSubscriber((Map<?, ?>) step.get("context"))
                                    : user,
                            options);
                    break;
                case "request":
                    user.subscription.request(Vectors.number(step.get("n")));
                    break;
                default:
                    user.subscription.cancel();
            }
        }

        private void signal(String what, Map<?, ?> step) {
            switch (what) {
                case "on_subscribe":
                    upstream.onSubscribe(new Subscription() {
                        @Override
                        public void request(long n) {
                            calls.add(List.of("request", n));
                        }

                        @Override
                        public void cancel() {
                            calls.add(List.of("cancel"));
                        }
                    });
                    break;
                case "on_next":
                    upstream.onNext(Vectors.number(step.get("value")));
                    break;
                case "on_error":
                    upstream.onError(new IllegalStateException((String) step.get("message")));
                    break;
                default:
                    upstream.onComplete();
            }
        }

        private void receive(List<?> frame) {
            String type = (String) frame.get(0);
            Object value = frame.size() > 1 ? frame.get(1) : null;
            Codec codec = direct.session.codec();
            byte[] bytes;
            switch (type) {
                case "SUBSCRIBE":
                    Map<?, ?> options = frame.size() > 2 ? Map.of("context", option(frame.get(2))) : Map.of();
                    bytes = codec.frame(FrameType.SUBSCRIBE, id, List.of(Vectors.number(value), options));
                    break;
                case "REQUEST":
                    bytes = Frames.request(id, Vectors.number(value));
                    break;
                case "CANCEL":
                    bytes = Frames.frame(FrameType.CANCEL, id, Frames.NOTHING);
                    break;
                case "NEXT":
                    List<Object> elements = new ArrayList<>();
                    ((List<?>) value).forEach(each -> elements.add(Vectors.number(each)));
                    bytes = codec.frame(FrameType.NEXT, id, elements);
                    break;
                case "COMPLETE":
                    bytes = Frames.frame(FrameType.COMPLETE, id, Frames.NOTHING);
                    break;
                default:
                    bytes = Frames.frame(
                            FrameType.ERROR, id, errors.encode(new IllegalStateException((String) value), 0));
            }
            new FrameDecoder(Frames.MAX_LENGTH).feed(bytes, 0, bytes.length).forEach(direct.session::receive);
        }

        private static Object option(Object value) {
            if (value instanceof Map) {
                Map<Object, Object> entries = new HashMap<>();
                ((Map<?, ?>) value).forEach((key, each) -> entries.put(key, option(each)));
                return entries;
            }
            return value instanceof Number ? Vectors.number(value) : value;
        }

        private void sent(List<?> expected) {
            Frame frame = direct.sent.poll();
            assertNotNull(frame, "no frame was sent; expected " + expected);
            assertEquals(frame.type.name(), expected.get(0));
            if (consumer && frame.type == FrameType.SUBSCRIBE) {
                id = frame.id;
            }
            assertEquals(frame.id, id);
            Object value = expected.size() > 1 ? expected.get(1) : null;
            switch (frame.type) {
                case SUBSCRIBE:
                    List<?> body = (List<?>) direct.session.codec().decode(frame.body);
                    assertEquals(body.get(0), Vectors.number(value));
                    assertEquals(
                            ((Map<?, ?>) body.get(1)).get("context"), expected.size() > 2 ? expected.get(2) : null);
                    break;
                case REQUEST:
                    assertEquals(ByteBuffer.wrap(frame.body).getLong(), Vectors.number(value));
                    break;
                case NEXT:
                    List<Object> elements = new ArrayList<>();
                    ((List<?>) value).forEach(each -> elements.add(Vectors.number(each)));
                    assertEquals(direct.session.codec().decode(frame.body), elements);
                    break;
                case ERROR:
                    String message = errors.decode(frame.body).getMessage();
                    assertTrue(message.contains((String) value), message);
                    break;
                default:
                    assertEquals(frame.body.length, 0);
            }
        }

        private static void matches(List<Object> seen, List<?> expected) {
            assertNotNull(seen, "no signal was received; expected " + expected);
            assertEquals(seen.get(0), expected.get(0));
            if (expected.size() > 1 && expected.get(1) instanceof Map) {
                assertEquals(seen.get(1), expected.get(1));
            } else if (expected.size() > 1 && expected.get(1) instanceof String) {
                assertTrue(((String) seen.get(1)).contains((String) expected.get(1)), seen.toString());
            } else if (expected.size() > 1) {
                assertEquals(seen.get(1), Vectors.number(expected.get(1)));
            }
        }

        void quiet() {
            assertNull(direct.sent.peek(), "unexpected frame");
            assertNull(user.signals.peek(), "unexpected signal");
            assertNull(calls.peek(), "unexpected call");
        }
    }
}
