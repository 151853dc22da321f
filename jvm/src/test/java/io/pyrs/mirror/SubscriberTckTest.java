package io.pyrs.mirror;

import io.pyrs.link.session.SessionPair;
import io.pyrs.link.session.StreamOptions;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import org.reactivestreams.tck.SubscriberBlackboxVerification;
import org.reactivestreams.tck.TestEnvironment;
import org.testng.annotations.AfterClass;
import org.testng.annotations.BeforeClass;

/** Verifies the mirror of a Subscriber with the official TCK. */
public class SubscriberTckTest extends SubscriberBlackboxVerification<Object> {
    private SessionPair pair;

    public SubscriberTckTest() {
        super(new TestEnvironment(10_000, 100));
    }

    @BeforeClass
    public void open() {
        pair = new SessionPair();
    }

    @AfterClass
    public void close() {
        pair.close();
    }

    @Override
    public Subscriber<Object> createSubscriber() {
        return (PythonSubscriber) pair.mirror(new OneByOne(), StreamOptions.DEFAULT);
    }

    @Override
    public Object createElement(int element) {
        return (long) element;
    }

    private static final class OneByOne implements Subscriber<Object> {
        private Subscription subscription;

        @Override
        public void onSubscribe(Subscription given) {
            subscription = given;
            given.request(1);
        }

        @Override
        public void onNext(Object element) {
            subscription.request(1);
        }

        @Override
        public void onError(Throwable error) {}

        @Override
        public void onComplete() {}
    }
}
