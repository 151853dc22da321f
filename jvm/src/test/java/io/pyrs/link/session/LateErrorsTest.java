package io.pyrs.link.session;

import static org.testng.Assert.assertEquals;

import io.pyrs.LinkBrokenException;
import io.pyrs.ObjectKind;
import io.pyrs.PeerReference;
import io.pyrs.link.protocol.Frame;
import io.pyrs.link.protocol.FrameDecoder;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import io.pyrs.value.ErrorCodec;
import io.pyrs.value.SentErrors;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.reactivestreams.Subscription;
import org.testng.annotations.AfterMethod;
import org.testng.annotations.BeforeMethod;
import org.testng.annotations.Test;

/** Tests errors that the Subscriber of a stream does not receive: they are logged. */
public class LateErrorsTest {
    private static final Logger LOGGER = Logger.getLogger("io.pyrs");
    private static final String PENDING = "java.lang.IllegalStateException: no disk";

    private final List<String> logged = new ArrayList<>();
    private Handler handler;
    private DirectSession direct;

    @BeforeMethod
    public void open() {
        Thread here = Thread.currentThread();
        handler = new Handler() {
            @Override
            public void publish(LogRecord record) {
                if (Thread.currentThread() == here) { // threads of another test may still log
                    logged.add(String.valueOf(record.getThrown().getMessage()));
                }
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        logged.clear();
        LOGGER.addHandler(handler);
        direct = new DirectSession(16);
    }

    @AfterMethod
    public void removeHandler() {
        LOGGER.removeHandler(handler);
    }

    private void receive(byte[] bytes) {
        new FrameDecoder(Frames.MAX_LENGTH).feed(bytes, 0, bytes.length).forEach(direct.session::receive);
    }

    /** Returns a Subscriber with an element and an error that wait for demand. */
    private RecordingSubscriber subscriberWithPendingError() {
        RecordingSubscriber subscriber = new RecordingSubscriber();
        direct.session.subscribe(
                direct.session.handles().receipt(ObjectKind.PUBLISHER, 7), subscriber, StreamOptions.DEFAULT);
        Frame opening = direct.sent.poll();
        subscriber.subscription.request(1);
        receive(direct.session.codec().frame(FrameType.NEXT, opening.id, List.of(1, 2)));
        byte[] error = new ErrorCodec(new SentErrors()).encode(new IllegalStateException("no disk"), 0);
        receive(Frames.frame(FrameType.ERROR, opening.id, error));
        assertEquals(logged, List.of());
        return subscriber;
    }

    @Test
    public void errorBehindElementsIsLoggedAtACancel() {
        subscriberWithPendingError().subscription.cancel();
        assertEquals(logged, List.of(PENDING));
    }

    @Test
    public void errorBehindElementsIsLoggedAtTheEndOfTheLink() {
        RecordingSubscriber subscriber = subscriberWithPendingError();
        direct.session.lost(new LinkBrokenException("gone"));
        assertEquals(subscriber.error.getMessage(), "gone");
        assertEquals(logged, List.of(PENDING));
    }

    @Test
    public void errorOfAPublisherAfterACancelIsLogged() {
        OutboundStream stream = direct.session.openTo(
                new PeerReference(direct.session.handles(), ObjectKind.SUBSCRIBER, 7), StreamOptions.DEFAULT);
        stream.onSubscribe(new Subscription() {
            @Override
            public void request(long n) {}

            @Override
            public void cancel() {}
        });
        stream.receiveCancel();
        stream.onError(new IllegalStateException("late"));
        assertEquals(logged, List.of("late"));
        assertEquals(direct.session.streamsLive(), 0);
    }

    @Test
    public void errorThatRequestThrowsAfterACancelIsLogged() {
        OutboundStream stream = direct.session.openTo(
                new PeerReference(direct.session.handles(), ObjectKind.SUBSCRIBER, 7), StreamOptions.DEFAULT);
        stream.onSubscribe(new Subscription() {
            @Override
            public void request(long n) {
                stream.receiveCancel();
                throw new IllegalStateException("late");
            }

            @Override
            public void cancel() {}
        });
        stream.receiveRequest(5);
        assertEquals(logged, List.of("late"));
        assertEquals(direct.session.streamsLive(), 0);
    }
}
