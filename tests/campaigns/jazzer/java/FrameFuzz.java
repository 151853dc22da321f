package io.pyrs.link.session;

import io.pyrs.LinkBrokenException;
import io.pyrs.ObjectKind;
import io.pyrs.PeerReference;
import io.pyrs.PyRef;
import io.pyrs.link.protocol.Frame;
import io.pyrs.link.protocol.FrameDecoder;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import io.pyrs.link.protocol.ProtocolException;
import io.pyrs.mirror.PythonProcessor;
import io.pyrs.mirror.PythonPublisher;
import io.pyrs.mirror.PythonSubscriber;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * The target of Jazzer: one input is one conversation with a session of the Java side, without a socket or threads.
 *
 * <p>Invariants: a frame is accepted or refused with ProtocolException; no task throws; every Subscriber that received
 * onSubscribe and did not cancel receives one terminal signal, no more elements than it requested and no null; when the
 * link has ended, the tables of streams and handles are empty. {@code fuzz_inputs.py} documents the format of an input.
 */
public final class FrameFuzz {
    private static final int RAW = 1;
    private static final int UNIT = 8;
    private static final long[] IDS = {(1L << 32) - 1, 1L << 40, 1L << 62, Long.MAX_VALUE, Long.MIN_VALUE, -1};
    private static final Logger LOGGER = Logger.getLogger("io.pyrs"); // a strong reference, because the level belongs to this instance

    static {
        LOGGER.setLevel(Level.OFF);
    }

    private FrameFuzz() {}

    /** Runs one input. */
    public static void fuzzerTestOneInput(byte[] input) {
        if (input.length > 0) {
            new Conversation().run(contentOf(input), (input[0] & 0xff) >> 1);
        }
    }

    private static byte[] contentOf(byte[] input) {
        if ((input[0] & RAW) != 0) {
            return Arrays.copyOfRange(input, 1, input.length);
        }
        ByteArrayOutputStream frames = new ByteArrayOutputStream();
        ByteBuffer records = ByteBuffer.wrap(input, 1, input.length - 1);
        while (records.remaining() >= 4) {
            int length = records.getShort() & 0xffff;
            int type = records.get() & 0xff;
            int number = records.get() & 0xff;
            byte[] body = new byte[Math.min(length, records.remaining())];
            records.get(body);
            int edge = number - (256 - IDS.length);
            ByteBuffer header = ByteBuffer.allocate(Frames.HEADER);
            header.putInt(Frames.TYPE_AND_ID + body.length).put((byte) type).putLong(edge < 0 ? number : IDS[edge]);
            frames.write(header.array(), 0, Frames.HEADER);
            frames.write(body, 0, body.length);
        }
        return frames.toByteArray();
    }

    /** Runs each task after the task that submitted it. */
    private static final class Inline implements Executor {
        private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
        private boolean running;

        @Override
        public void execute(Runnable task) {
            tasks.add(task);
            if (running) {
                return;
            }
            running = true;
            try {
                while (!tasks.isEmpty()) {
                    tasks.poll().run();
                }
            } finally {
                running = false;
            }
        }
    }

    /** Checks its signals, and requests elements in a fixed order. */
    private static final class Checked implements Subscriber<Object> {
        private static final long[] REQUESTS = {1, 5, 40, 0, 10_000, Long.MAX_VALUE};

        private final int cancelAt;
        private Subscription subscription;
        private long demand;
        private int step;
        private int terminals;
        private boolean cancelled;

        Checked(int first, int cancelAt) {
            this.step = first;
            this.cancelAt = cancelAt;
        }

        @Override
        public void onSubscribe(Subscription received) {
            check(subscription == null, "a second onSubscribe");
            subscription = received;
            act();
        }

        @Override
        public void onNext(Object element) {
            check(element != null, "onNext(null)");
            check(terminals == 0, "onNext after a terminal signal");
            check(--demand >= 0, "onNext without demand");
            if (demand < 2) {
                act();
            }
        }

        @Override
        public void onError(Throwable error) {
            check(error != null, "onError(null)");
            onComplete();
        }

        @Override
        public void onComplete() {
            check(++terminals == 1, "a second terminal signal");
        }

        private void act() {
            if (++step == cancelAt) {
                cancelled = true;
                subscription.cancel();
                return;
            }
            long n = REQUESTS[step % REQUESTS.length];
            demand = Window.addDemand(demand, n);
            subscription.request(n);
        }

        void verify() {
            check(subscription == null || cancelled || terminals == 1, terminals + " terminal signals");
        }
    }

    /** Emits the numbers below 50 on demand. */
    private static void subscribeToRange(Subscriber<? super Object> subscriber) {
        subscriber.onSubscribe(new Subscription() {
            private int next;
            private boolean terminated;

            @Override
            public void request(long n) {
                for (long left = n; left > 0 && !terminated; left--) {
                    subscriber.onNext(next++);
                    if (next == 50 && !terminated) {
                        terminated = true;
                        subscriber.onComplete();
                    }
                }
            }

            @Override
            public void cancel() {
                terminated = true;
            }
        });
    }

    /** One link from its start to its end. */
    private static final class Conversation {
        private final FrameDecoder decoder = new FrameDecoder(Frames.MAX_LENGTH);
        private final FrameDecoder sent = new FrameDecoder(Frames.MAX_LENGTH);
        private final Outbox outbox = new Outbox(
                new Outbox.Sink() {
                    @Override
                    public void write(byte[] bytes, int offset, int length) {
                        sent.feed(bytes, offset, length); // throws for a malformed frame
                    }

                    @Override
                    public void flush() {}
                },
                this::write);
        private final List<Checked> subscribers = new ArrayList<>();
        private final Session session = new Session(
                new Inline(), outbox, this::mirror, FrameFuzz.class.getClassLoader(), 4_096, 1_000, 1);

        private void write() {
            outbox.write();
        }

        private Object mirror(PeerReference reference) {
            switch (reference.kind()) {
                case PUBLISHER:
                    return new PythonPublisher(session, reference, StreamOptions.DEFAULT);
                case SUBSCRIBER:
                    return new PythonSubscriber(session, reference, StreamOptions.DEFAULT);
                case PROCESSOR:
                    return new PythonProcessor(session, reference, StreamOptions.DEFAULT);
                default:
                    return new PyRef(reference);
            }
        }

        void run(byte[] content, int units) {
            outbox.open();
            for (int i = 0; i < 5; i++) {
                subscribers.add(new Checked(i, i % 2 == 0 ? -1 : 9));
            }
            Publisher<Object> range = FrameFuzz::subscribeToRange;
            Publisher<Object> failing = subscriber -> {
                throw new IllegalStateException("mine");
            };
            List<Object> exported = List.of(
                    range,
                    CompletableFuture.completedFuture(List.of("x", new HashMap<>())),
                    failing,
                    subscribers.get(0),
                    subscribers.get(1),
                    Function.identity(),
                    (Function<Object, Object>) String::valueOf);
            exported.forEach(session.handles()::own);
            for (Checked subscriber : subscribers.subList(2, 5)) {
                PeerReference publisher = new PeerReference(session.handles(), ObjectKind.PUBLISHER, 3);
                session.subscribe(publisher, subscriber, StreamOptions.DEFAULT);
            }
            int size = units == 0 ? Math.max(1, content.length) : units * UNIT;
            try {
                for (int at = 0; at < content.length; at += size) {
                    for (Frame message : decoder.feed(content, at, Math.min(size, content.length - at))) {
                        receive(message);
                    }
                    outbox.write();
                }
            } catch (ProtocolException refused) {
                check(refused.getMessage() != null, "a ProtocolException without a message");
            }
            session.lost(new LinkBrokenException("the end"));
            subscribers.forEach(Checked::verify);
            check(session.streamsLive() == 0, session.streamsLive() + " streams are left");
            check(session.handles().ownedCount() == 0, session.handles().ownedCount() + " handles are left");
            check(session.handles().heldCount() == 0, session.handles().heldCount() + " mirrors are left");
        }

        /** Receives a message as {@code Connection} does. */
        private void receive(Frame message) {
            if (message.type == FrameType.GOAWAY) {
                session.codec().decodeEntries(message, Long.class, String.class);
            } else {
                session.receive(message);
            }
        }
    }

    private static void check(boolean holds, String violation) {
        if (!holds) {
            throw new AssertionError(violation);
        }
    }
}
