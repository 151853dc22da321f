package io.pyrs.benchmarks;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * A Subscriber that counts, requests {@code batch} elements at a time, and stops requesting after {@code requests} times.
 *
 * <p>Keeps 2.1 (nothing comes unasked), 2.2 (does next to nothing in a signal) and 2.5 (one subscription).
 */
public final class CountingSubscriber implements Subscriber<Object> {
    private final long batch;
    private final CountDownLatch finished = new CountDownLatch(1);
    private long requestsLeft;
    private long left;
    private volatile long count;
    private volatile Throwable error;
    private Subscription subscription;

    public CountingSubscriber(long batch, long requests) {
        this.batch = batch;
        this.requestsLeft = requests;
    }

    /** Waits for a terminal signal; returns how many elements came. */
    public long awaitCount(long seconds) throws InterruptedException {
        if (!finished.await(seconds, TimeUnit.SECONDS)) {
            throw new IllegalStateException("no terminal signal after " + seconds + " s; " + count + " elements came");
        }
        if (error != null) {
            throw new IllegalStateException("the stream failed", error);
        }
        return count;
    }

    /** How many elements came so far. */
    public long count() {
        return count;
    }

    /** Gives the stream up. */
    public void cancel() {
        subscription.cancel();
    }

    @Override
    public void onSubscribe(Subscription given) {
        if (subscription != null) {
            given.cancel();
            return;
        }
        subscription = given;
        requestMore();
    }

    @Override
    @SuppressWarnings("NonAtomicOperationOnVolatileField") // signals are serial, rule 1.3
    public void onNext(Object element) {
        if (element == null) {
            throw new NullPointerException("rule 2.13");
        }
        count++;
        if (--left == 0) {
            requestMore();
        }
    }

    @Override
    public void onError(Throwable failure) {
        error = failure;
        finished.countDown();
    }

    @Override
    public void onComplete() {
        finished.countDown();
    }

    private void requestMore() {
        if (requestsLeft > 0) {
            requestsLeft--;
            left = batch;
            subscription.request(batch);
        }
    }
}
