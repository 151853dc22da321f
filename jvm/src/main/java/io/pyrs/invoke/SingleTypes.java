package io.pyrs.invoke;

import io.pyrs.ObjectKind;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/** Converts objects that emit at most one element, such as a Uni, to Publishers, and Publishers to futures. */
public final class SingleTypes {
    private SingleTypes() {}

    /**
     * Returns the Publisher of an object of kind MAYBE or SINGLE that does not implement Publisher, such as a Uni.
     * Returns any other object unchanged.
     */
    public static Object toPublisher(Object source) throws Throwable {
        ObjectKind kind = ObjectKind.of(source);
        boolean implemented = source instanceof Publisher || source instanceof Flow.Publisher;
        if (implemented || (kind != ObjectKind.MAYBE && kind != ObjectKind.SINGLE)) {
            return source;
        }
        boolean mutiny = Arrays.stream(source.getClass().getMethods())
                .anyMatch(method -> method.getName().equals("toMulti"));
        return Invocation.invoke(source, mutiny ? "toMulti" : "toFlowable");
    }

    /**
     * Subscribes to a Publisher and returns a future of its first element, which is null if the Publisher is empty.
     * Cancelling the future cancels the subscription.
     */
    public static CompletableFuture<Object> toFuture(Publisher<Object> publisher) {
        ElementFuture future = new ElementFuture();
        publisher.subscribe(future.subscriber);
        return future;
    }

    /** The result of {@link #toFuture}. Its Subscriber is a separate object, so that callers cannot signal it. */
    private static final class ElementFuture extends CompletableFuture<Object> {
        private volatile Subscription subscription;

        final Subscriber<Object> subscriber = new Subscriber<>() {
            @Override
            public void onSubscribe(Subscription upstream) {
                subscription = upstream;
                if (isDone()) {
                    upstream.cancel();
                } else {
                    upstream.request(1);
                }
            }

            @Override
            public void onNext(Object element) {
                complete(element);
                subscription.cancel();
            }

            @Override
            public void onError(Throwable error) {
                completeExceptionally(error);
            }

            @Override
            public void onComplete() {
                complete(null);
            }
        };

        @Override
        public boolean cancel(boolean mayInterrupt) {
            boolean cancelled = super.cancel(mayInterrupt);
            Subscription upstream = subscription;
            if (cancelled && upstream != null) {
                upstream.cancel();
            }
            return cancelled;
        }
    }
}
