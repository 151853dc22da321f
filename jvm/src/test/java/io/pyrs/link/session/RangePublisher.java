package io.pyrs.link.session;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongFunction;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * A synchronous source that emits inside request.
 *
 * <p>The example AsyncIterablePublisher of the specification is not usable here: it emits one element too many for each
 * 1,024 requested at once, which the bridge reports.
 */
public final class RangePublisher implements Publisher<Object> {
    private final long count;
    private final LongFunction<Object> element;

    public RangePublisher(long count, LongFunction<Object> element) {
        this.count = count;
        this.element = element;
    }

    @Override
    public void subscribe(Subscriber<? super Object> subscriber) {
        subscriber.onSubscribe(new Emission(subscriber));
    }

    private final class Emission implements Subscription {
        private final Subscriber<? super Object> subscriber;
        private final AtomicLong demand = new AtomicLong();
        private volatile boolean cancelled;
        private long next;

        Emission(Subscriber<? super Object> subscriber) {
            this.subscriber = subscriber;
        }

        @Override
        public void request(long n) {
            if (demand.getAndAccumulate(n, (a, b) -> a + b < 0 ? Long.MAX_VALUE : a + b) != 0) {
                return;
            }
            long emitted = 0;
            long wanted = demand.get();
            while (wanted != 0) {
                for (; emitted < wanted && next < count; emitted++) {
                    if (cancelled) {
                        return;
                    }
                    subscriber.onNext(element.apply(next++));
                }
                if (next == count && !cancelled) {
                    cancelled = true;
                    subscriber.onComplete();
                    return;
                }
                wanted = demand.addAndGet(-emitted);
                emitted = 0;
            }
        }

        @Override
        public void cancel() {
            cancelled = true;
        }
    }
}
