package interop;

import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongFunction;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/** Publishers that no library offers: correct ones of unusual elements, and ones that break a rule. */
public final class Sources {
    private Sources() {}

    /** Emits the function's results for 0, 1, ... on demand. A request without outstanding demand starts a new thread. */
    public static Publisher<Object> ofThreads(long count, LongFunction<?> function) {
        return subscriber -> subscriber.onSubscribe(new Subscription() {
            private final AtomicLong demand = new AtomicLong();
            private final AtomicBoolean terminated = new AtomicBoolean();
            private long next;

            @Override public void request(long n) {
                if (demand.getAndAccumulate(n, (a, b) -> a + b < 0 ? Long.MAX_VALUE : a + b) == 0) {
                    new Thread(this::emit, "interop-foreign").start();
                }
            }

            private void emit() {
                long emitted = 0;
                do {
                    while (emitted < demand.get() && next < count && !terminated.get()) {
                        subscriber.onNext(function.apply(next++));
                        emitted++;
                    }
                    if (next == count && terminated.compareAndSet(false, true)) {
                        subscriber.onComplete();
                    }
                    if (terminated.get()) {
                        return;
                    }
                    long done = emitted;
                    emitted = 0;
                    if (demand.addAndGet(-done) == 0) {
                        return;
                    }
                } while (true);
            }

            @Override public void cancel() {
                terminated.set(true);
            }
        });
    }

    public static Publisher<Object> longsOnForeignThreads(long count) {
        return ofThreads(count, number -> number);
    }

    /** Emits the same ByteBuffer repeatedly, with new content. */
    public static Publisher<Object> oneBuffer(long count, int size) {
        ByteBuffer buffer = ByteBuffer.allocate(size);
        return ofThreads(count, number -> {
            buffer.clear();
            while (buffer.hasRemaining()) {
                buffer.put((byte) number);
            }
            buffer.flip();
            return buffer;
        });
    }

    /** Emits the same array repeatedly, with new content. */
    public static Publisher<Object> oneArray(long count, int size) {
        byte[] array = new byte[size];
        return ofThreads(count, number -> {
            java.util.Arrays.fill(array, (byte) number);
            return array;
        });
    }

    public static Publisher<Object> one(Object element) {
        return ofThreads(1, number -> element);
    }

    /** Emits the same object repeatedly. */
    public static Publisher<Object> repeated(long count, Object element) {
        return ofThreads(count, number -> element);
    }

    public static Publisher<Object> failing(Throwable error) {
        return subscriber -> {
            subscriber.onSubscribe(new Inert());
            subscriber.onError(error);
        };
    }

    public static Flow.Publisher<Object> asFlow(Publisher<Object> publisher) {
        return subscriber -> publisher.subscribe(new Subscriber<>() {
            @Override public void onSubscribe(Subscription subscription) {
                subscriber.onSubscribe(new Flow.Subscription() {
                    @Override public void request(long n) {
                        subscription.request(n);
                    }

                    @Override public void cancel() {
                        subscription.cancel();
                    }
                });
            }

            @Override public void onNext(Object element) {
                subscriber.onNext(element);
            }

            @Override public void onError(Throwable error) {
                subscriber.onError(error);
            }

            @Override public void onComplete() {
                subscriber.onComplete();
            }
        });
    }

    /** 2.13: emits null. */
    public static Publisher<Object> nullElement() {
        return onFirstRequest(subscriber -> subscriber.onNext(null));
    }

    /** 1.1: emits far more elements than requested. */
    public static Publisher<Object> beyondDemand(int count) {
        return onFirstRequest(subscriber -> {
            for (int i = 0; i < count; i++) {
                subscriber.onNext(i);
            }
            subscriber.onComplete();
        });
    }

    /** 1.7: emits two terminal signals. */
    public static Publisher<Object> twoTerminalSignals() {
        return onFirstRequest(subscriber -> {
            subscriber.onComplete();
            subscriber.onError(new IllegalStateException("the second terminal signal"));
        });
    }

    private interface Signals {
        void sendTo(Subscriber<? super Object> subscriber);
    }

    private static Publisher<Object> onFirstRequest(Signals signals) {
        return subscriber -> subscriber.onSubscribe(new Subscription() {
            private final AtomicBoolean done = new AtomicBoolean();

            @Override public void request(long n) {
                if (done.compareAndSet(false, true)) {
                    signals.sendTo(subscriber);
                }
            }

            @Override public void cancel() {
                done.set(true);
            }
        });
    }

    private static final class Inert implements Subscription {
        @Override public void request(long n) {}

        @Override public void cancel() {}
    }

    public static CompletionStage<Object> completed(Object value) {
        return CompletableFuture.completedFuture(value);
    }

    public static CompletionStage<Object> failed(Throwable error) {
        return CompletableFuture.failedFuture(error);
    }

    /** Creates an exception with a stack trace. */
    public static RuntimeException failure(String message) {
        return new IllegalStateException(message, new java.io.IOException("below: " + message));
    }
}
