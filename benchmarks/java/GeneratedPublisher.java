package io.pyrs.benchmarks;

import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongFunction;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * A cold Publisher of {@code count} elements, each created on request, emitted on the given executor.
 *
 * <p>Obeys 1.1 (never more than requested), 1.3 (one emitting thread at a time), 3.3 (bounded recursion), 3.8 and 3.17
 * (saturating demand), 3.9 (non-positive requests) and 3.13 (no reference to the Subscriber after cancel).
 */
public final class GeneratedPublisher implements Publisher<Object> {
    private final long count;
    private final LongFunction<?> generator;
    private final Executor executor;
    private final AtomicLong produced = new AtomicLong();

    GeneratedPublisher(long count, LongFunction<?> generator, Executor executor) {
        this.count = count;
        this.generator = generator;
        this.executor = executor;
    }

    /** Returns the number of elements that the latest subscription has emitted. */
    public long produced() {
        return produced.get();
    }

    @Override
    public void subscribe(Subscriber<? super Object> subscriber) {
        subscriber.onSubscribe(new Emission(subscriber));
    }

    private final class Emission implements Subscription, Runnable {
        private final AtomicLong demand = new AtomicLong();
        private volatile Subscriber<? super Object> subscriber;
        private long next;

        Emission(Subscriber<? super Object> subscriber) {
            this.subscriber = subscriber;
        }

        @Override
        public void request(long n) {
            if (n <= 0) {
                Subscriber<? super Object> target = subscriber;
                cancel();
                if (target != null) {
                    target.onError(new IllegalArgumentException("rule 3.9: request(" + n + ")"));
                }
                return;
            }
            long before = demand.getAndUpdate(old -> old + n < 0 ? Long.MAX_VALUE : old + n);
            if (before == 0) {
                executor.execute(this);
            }
        }

        @Override
        public void cancel() {
            subscriber = null;
        }

        @Override
        public void run() {
            long requested = demand.get();
            long emitted = 0;
            while (true) {
                for (; emitted != requested; emitted++) {
                    Subscriber<? super Object> target = subscriber;
                    if (target == null) {
                        return;
                    }
                    long index = next++;
                    produced.lazySet(next);
                    target.onNext(generator.apply(index));
                    if (next == count) {
                        Subscriber<? super Object> last = subscriber;
                        subscriber = null;
                        if (last != null) {
                            last.onComplete();
                        }
                        return;
                    }
                }
                requested = demand.get();
                if (requested == emitted) {
                    requested = demand.addAndGet(-emitted);
                    emitted = 0;
                    if (requested == 0) {
                        return;
                    }
                }
            }
        }
    }
}
