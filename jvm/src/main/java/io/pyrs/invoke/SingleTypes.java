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
        final Subscriber<Object> subscriber = new ElementSubscriber(this);
        private volatile Subscription subscription;

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

    private static final class ElementSubscriber implements Subscriber<Object> {
        private final ElementFuture future;

        ElementSubscriber(ElementFuture future) {
            this.future = future;
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            future.subscription = subscription;
            if (future.isDone()) {
                subscription.cancel();
            } else {
                subscription.request(1);
            }
        }

        @Override
        public void onNext(Object element) {
            future.complete(element);
            future.subscription.cancel();
        }

        @Override
        public void onError(Throwable error) {
            future.completeExceptionally(error);
        }

        @Override
        public void onComplete() {
            future.complete(null);
        }
    }
}
