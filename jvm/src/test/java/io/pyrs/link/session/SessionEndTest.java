package io.pyrs.link.session;

import static org.testng.Assert.assertEquals;

import io.pyrs.LinkClosedException;
import io.pyrs.ObjectKind;
import io.pyrs.PeerReference;
import io.pyrs.link.protocol.FrameDecoder;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import org.testng.annotations.BeforeMethod;
import org.testng.annotations.Test;

/** Tests streams that Python opens while the JVM ends the session: the reader still receives frames. */
public class SessionEndTest {
    private Session session;

    @BeforeMethod
    public void open() {
        session = new DirectSession(16).session;
    }

    /** Ends the session. A frame arrives after {@link Session#lost} has read the table of streams. */
    private void endAndReceive(FrameType type, Object exported) {
        byte[] bytes = session.codec().frame(type, 5, List.of(session.handles().own(exported), Map.of()));
        RecordingSubscriber live = new RecordingSubscriber(() ->
                new FrameDecoder(Frames.MAX_LENGTH).feed(bytes, 0, bytes.length).forEach(session::receive));
        session.subscribe(new PeerReference(session.handles(), ObjectKind.PUBLISHER, 7), live, StreamOptions.DEFAULT);
        session.lost(new LinkClosedException("closed"));
    }

    @Test
    public void publisherThatIsSubscribedWhileTheSessionEndsIsCancelled() {
        AtomicInteger cancels = new AtomicInteger();
        Publisher<Object> publisher = subscriber -> subscriber.onSubscribe(new Subscription() {
            @Override
            public void request(long n) {}

            @Override
            public void cancel() {
                cancels.incrementAndGet();
            }
        });
        endAndReceive(FrameType.SUBSCRIBE, publisher);
        assertEquals(cancels.get(), 1);
        assertEquals(session.streamsLive(), 0);
    }

    @Test
    public void subscriberOfAStreamThatIsOpenedWhileTheSessionEndsReceivesTheError() {
        RecordingSubscriber subscriber = new RecordingSubscriber();
        endAndReceive(FrameType.ON_SUBSCRIBE, subscriber);
        assertEquals(List.copyOf(subscriber.signals), List.of(List.of("on_subscribe"), List.of("on_error", "closed")));
        assertEquals(session.streamsLive(), 0);
    }

    private void receive(FrameType type, byte[] body) {
        byte[] bytes = Frames.frame(type, 2, body);
        new FrameDecoder(Frames.MAX_LENGTH).feed(bytes, 0, bytes.length).forEach(session::receive);
    }

    @Test
    public void objectSentBackBeforeTheEndIsDelivered() {
        Object exported = new Object();
        byte[] batch = ByteBuffer.allocate(13)
                .put(new byte[] {(byte) 0x91, (byte) 0xc7, 9, 17, 0})
                .putLong(session.handles().own(exported))
                .array();
        List<Object> signals = new ArrayList<>();
        Subscriber<Object> subscriber = new Subscriber<>() {
            @Override
            public void onSubscribe(Subscription subscription) {
                subscription.request(10);
            }

            @Override
            public void onNext(Object element) {
                signals.add(element);
                if (element.equals(1L)) {
                    receive(FrameType.NEXT_HOME, batch);
                    session.lost(new LinkClosedException("closed"));
                }
            }

            @Override
            public void onError(Throwable error) {
                signals.add(error.getMessage());
            }

            @Override
            public void onComplete() {
                signals.add("complete");
            }
        };
        session.subscribe(
                new PeerReference(session.handles(), ObjectKind.PUBLISHER, 7), subscriber, StreamOptions.DEFAULT);
        receive(FrameType.NEXT, new byte[] {(byte) 0x91, 1});
        assertEquals(signals, List.of(1L, exported, "closed"));
        assertEquals(session.handles().ownedCount(), 0);
    }

    /** Python compares references by their handles. */
    @Test
    public void objectsExportedAfterTheEndHaveDifferentHandles() {
        long before = session.handles().own(new Object());
        session.lost(new LinkClosedException("closed"));
        long first = session.handles().own(new Object());
        long second = session.handles().own(new Object());
        assertEquals(Set.of(before, first, second).size(), 3); // Set.of throws for equal members
        assertEquals(session.handles().ownedCount(), 0);
    }
}
