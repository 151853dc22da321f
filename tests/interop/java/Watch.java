package interop;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

/** Observes requests, elements and cancels of a source, as a callback of Reactor, RxJava, Akka and the JDK. */
public final class Watch
        implements LongConsumer, io.reactivex.rxjava3.functions.LongConsumer, Runnable, io.reactivex.rxjava3.functions.Action {
    private final AtomicLong requested = new AtomicLong();
    private final AtomicLong largest = new AtomicLong();
    private final AtomicLong elements = new AtomicLong();
    private final CountDownLatch cancelled = new CountDownLatch(1);

    @Override public void accept(long n) {
        requested.getAndAccumulate(n, (a, b) -> a + b < 0 ? Long.MAX_VALUE : a + b);
        largest.accumulateAndGet(n, Math::max);
    }

    @Override public void run() {
        cancelled.countDown();
    }

    public Consumer<Object> elementConsumer() {
        return element -> elements.incrementAndGet();
    }

    public io.reactivex.rxjava3.functions.Consumer<Object> rxElementConsumer() {
        return element -> elements.incrementAndGet();
    }

    public <T> akka.japi.function.Function<T, T> akkaElementFunction() {
        return element -> {
            elements.incrementAndGet();
            return element;
        };
    }

    public long requested() {
        return requested.get();
    }

    public long largest() {
        return largest.get();
    }

    public long elements() {
        return elements.get();
    }

    public boolean awaitCancelled(long milliseconds) throws InterruptedException {
        return cancelled.await(milliseconds, TimeUnit.MILLISECONDS);
    }
}
