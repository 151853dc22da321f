package io.pyrs.link.session;

import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/** A Subscriber that requests one element and throws in onNext. */
public final class ThrowingSubscriber implements Subscriber<Object> {
    @Override
    public void onSubscribe(Subscription subscription) {
        subscription.request(1);
    }

    @Override
    public void onNext(Object element) {
        throw new IllegalStateException("a Subscriber that throws");
    }

    @Override
    public void onError(Throwable error) {}

    @Override
    public void onComplete() {}
}
