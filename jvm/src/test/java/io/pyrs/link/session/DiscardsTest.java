package io.pyrs.link.session;

import static org.testng.Assert.assertEquals;

import io.pyrs.ObjectKind;
import io.pyrs.link.protocol.Frame;
import io.pyrs.link.protocol.FrameDecoder;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import java.lang.reflect.Proxy;
import java.util.List;
import org.testng.annotations.Test;
import reactor.core.CoreSubscriber;
import reactor.util.context.Context;

/** Tests the functions for dropped elements in the Context of a Reactor Subscriber. */
public class DiscardsTest {
    /** A Subscriber whose Context has a function for dropped elements, but throws when it is read. */
    private static final class BrokenContext implements CoreSubscriber<Object> {
        final RecordingSubscriber recorder = new RecordingSubscriber();

        @Override
        public Context currentContext() {
            return (Context) Proxy.newProxyInstance(
                    Context.class.getClassLoader(), new Class<?>[] {Context.class}, (proxy, method, arguments) -> {
                        if (method.getName().equals("hasKey")) {
                            return true;
                        }
                        throw new IllegalStateException("a broken Context");
                    });
        }

        @Override
        public void onSubscribe(org.reactivestreams.Subscription subscription) {
            recorder.onSubscribe(subscription);
        }

        @Override
        public void onNext(Object element) {
            recorder.onNext(element);
        }

        @Override
        public void onError(Throwable error) {
            recorder.onError(error);
        }

        @Override
        public void onComplete() {
            recorder.onComplete();
        }
    }

    @Test
    public void brokenContextLeavesNoStream() {
        DirectSession direct = new DirectSession(16);
        BrokenContext subscriber = new BrokenContext();
        direct.session.subscribe(
                direct.session.handles().receipt(ObjectKind.PUBLISHER, 7), subscriber, StreamOptions.DEFAULT);
        Frame opening = direct.sent.poll();
        assertEquals(opening.type, FrameType.SUBSCRIBE);
        subscriber.recorder.subscription.request(1);
        byte[] batch = direct.session.codec().frame(FrameType.NEXT, opening.id, List.of(1, 2, 3));
        new FrameDecoder(Frames.MAX_LENGTH).feed(batch, 0, batch.length).forEach(direct.session::receive);
        subscriber.recorder.subscription.cancel();
        assertEquals(subscriber.recorder.signals.size(), 2); // on_subscribe and one element
        assertEquals(direct.session.streamsLive(), 0);
    }
}
