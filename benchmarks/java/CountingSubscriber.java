package io.pyrs.benchmarks;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * Counts elements, and requests {@code batch} elements at a time, at most {@code requests} times.
 *
 * <p>Obeys 2.1 (signals demand), 2.2 (does little in a signal) and 2.5 (one subscription).
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

    /** Waits for a terminal signal; returns the number of received elements. */
    public long awaitCount(long seconds) throws InterruptedException {
        if (!finished.await(seconds, TimeUnit.SECONDS)) {
            throw new IllegalStateException(
                    "no terminal signal after " + seconds + " s; " + count + " elements arrived");
        }
        if (error != null) {
            throw new IllegalStateException("the stream failed", error);
        }
        return count;
    }

    /** Returns the number of received elements. */
    public long count() {
        return count;
    }

    /** Cancels the stream. */
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
