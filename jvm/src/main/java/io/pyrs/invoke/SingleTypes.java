package io.pyrs.invoke;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * The types of Reactor, RxJava, Mutiny and Helidon that emit at most one element. They are known by name, which avoids
 * a dependency on these libraries.
 */
public final class SingleTypes {
    /** The kind of each type, and the method that converts it to a Publisher if it is none. */
    private static final Map<String, String> TYPES = Map.of(
            "reactor.core.publisher.Mono", "maybe",
            "io.helidon.common.reactive.Single", "maybe",
            "io.smallrye.mutiny.Uni", "maybe toMulti",
            "io.reactivex.rxjava3.core.Single", "single toFlowable",
            "io.reactivex.rxjava3.core.Maybe", "maybe toFlowable",
            "io.reactivex.rxjava3.core.Completable", "maybe toFlowable");

    private static final ClassValue<String> BY_CLASS = new ClassValue<>() {
        @Override
        protected String computeValue(Class<?> type) {
            return find(type);
        }
    };

    private SingleTypes() {}

    /** Returns "single" or "maybe", followed by the name of the method to convert with; or an empty string. */
    public static String of(Object value) {
        return BY_CLASS.get(value.getClass());
    }

    private static String find(Class<?> type) {
        if (type == null) {
            return "";
        }
        String found = TYPES.getOrDefault(type.getName(), "");
        for (Class<?> each : type.getInterfaces()) {
            found = found.isEmpty() ? find(each) : found;
        }
        return found.isEmpty() ? find(type.getSuperclass()) : found;
    }

    /**
     * Subscribes to a Publisher, and returns the future of its first element; null if it has none. Cancelling the
     * future cancels the Publisher.
     */
    public static CompletableFuture<Object> toFuture(Publisher<Object> publisher) {
        ElementFuture future = new ElementFuture();
        publisher.subscribe(future.subscriber);
        return future;
    }

    /** Not a Subscriber itself: the bridge would send it to Python as one. */
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
