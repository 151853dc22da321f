package io.pyrs.link.session;

import static org.testng.Assert.assertEquals;

import io.pyrs.LinkClosedException;
import io.pyrs.ObjectKind;
import io.pyrs.PeerReference;
import io.pyrs.link.protocol.FrameDecoder;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.reactivestreams.Publisher;
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

    /** Ends the session. It receives the frame after it has read the table of streams. */
    private void endAndReceive(FrameType type, Object exported) {
        byte[] bytes = session.codec().frame(type, 5, List.of(session.own(exported), Map.of()));
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
}
