package interop;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.reactivestreams.Processor;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/** A hot Publisher that is not detected as hot. Its subscribe blocks until the gate is opened. */
public final class Gated implements Publisher<Object> {
    private final List<Subscriber<? super Object>> subscribers = new CopyOnWriteArrayList<>();
    private final CountDownLatch entered = new CountDownLatch(1);
    private final CountDownLatch gate = new CountDownLatch(1);

    @Override public void subscribe(Subscriber<? super Object> subscriber) {
        entered.countDown();
        await(gate, 20_000);
        subscriber.onSubscribe(new Subscription() {
            @Override public void request(long n) {}

            @Override public void cancel() {
                subscribers.remove(subscriber);
            }
        });
        subscribers.add(subscriber);
    }

    private static boolean await(CountDownLatch latch, long milliseconds) {
        try {
            return latch.await(milliseconds, TimeUnit.MILLISECONDS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    public boolean awaitEntered(long milliseconds) {
        return await(entered, milliseconds);
    }

    public void open() {
        gate.countDown();
    }

    /** Returns the number of Subscribers. */
    public int count() {
        return subscribers.size();
    }

    public void complete() {
        subscribers.forEach(Subscriber::onComplete);
    }

    /** A Processor that forwards requests and signals unchanged, for one Subscriber that subscribes first. */
    public static Processor<Object, Object> oneByOne() {
        return new Processor<>() {
            private Subscriber<? super Object> downstream;
            private Subscription upstream;
            private long early;

            @Override public void subscribe(Subscriber<? super Object> subscriber) {
                downstream = subscriber;
                subscriber.onSubscribe(new Subscription() {
                    @Override public void request(long n) {
                        requestUpstream(n);
                    }

                    @Override public void cancel() {
                        upstream.cancel();
                    }
                });
            }

            private void requestUpstream(long n) {
                synchronized (this) {
                    if (upstream == null) {
                        early += n;
                        return;
                    }
                }
                upstream.request(n);
            }

            @Override public void onSubscribe(Subscription subscription) {
                long n;
                synchronized (this) {
                    upstream = subscription;
                    n = early;
                }
                if (n > 0) {
                    subscription.request(n);
                }
            }

            @Override public void onNext(Object element) {
                downstream.onNext(element);
            }

            @Override public void onError(Throwable error) {
                downstream.onError(error);
            }

            @Override public void onComplete() {
                downstream.onComplete();
            }
        };
    }
}
