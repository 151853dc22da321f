package io.pyrs.benchmarks;

import java.util.concurrent.atomic.AtomicInteger;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/** A Publisher without elements and without a terminal signal. */
public final class SilentPublisher implements Publisher<Object> {
    private final AtomicInteger requests = new AtomicInteger();

    /** Returns the number of received requests. */
    public int requests() {
        return requests.get();
    }

    @Override
    public void subscribe(Subscriber<? super Object> subscriber) {
        subscriber.onSubscribe(new Subscription() {
            @Override
            public void request(long n) {
                requests.incrementAndGet();
            }

            @Override
            public void cancel() {
            }
        });
    }
}
