package io.pyrs.link.session;

import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.function.LongConsumer;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * Adapts objects of java.util.concurrent.Flow to org.reactivestreams, which the streams use, and back. Does
 * not use FlowAdapters, which some reactive-streams jars lack.
 */
public final class Families {
    private Families() {}

    public static Publisher<Object> toReactiveStreams(Flow.Publisher<Object> publisher) {
        return subscriber -> publisher.subscribe(new FlowSubscriber(Objects.requireNonNull(subscriber)));
    }

    public static Flow.Publisher<Object> toFlow(Publisher<Object> publisher) {
        return subscriber -> publisher.subscribe(new ReactiveSubscriber(Objects.requireNonNull(subscriber)));
    }

    /** Subscribes to a Publisher of either family, or to a CompletionStage as a Publisher of its result. */
    @SuppressWarnings("unchecked")
    static void subscribe(Object publisher, OutboundStream stream) {
        if (publisher instanceof Publisher) {
            ((Publisher<Object>) publisher).subscribe(stream);
        } else if (publisher instanceof Flow.Publisher) {
            ((Flow.Publisher<Object>) publisher).subscribe(stream);
        } else if (publisher instanceof CompletionStage) {
            StageSubscription.subscribe((CompletionStage<Object>) publisher, stream);
        } else {
            throw new IllegalArgumentException("a " + publisher.getClass().getName() + " is not a Publisher");
        }
    }

    /** Returns a Subscriber of either family as one of org.reactivestreams. */
    @SuppressWarnings("unchecked")
    static Subscriber<Object> subscriber(Object subscriber) {
        if (subscriber instanceof Subscriber) {
            return (Subscriber<Object>) subscriber;
        }
        if (subscriber instanceof Flow.Subscriber) {
            return new ReactiveSubscriber((Flow.Subscriber<Object>) subscriber);
        }
        throw new IllegalArgumentException("a " + subscriber.getClass().getName() + " is not a Subscriber");
    }

    public static Subscription subscription(Flow.Subscription subscription) {
        return new BothFamiliesSubscription(subscription::request, subscription::cancel, subscription);
    }

    private static Flow.Subscription flowSubscription(Subscription subscription) {
        return subscription instanceof Flow.Subscription
                ? (Flow.Subscription) subscription
                : new BothFamiliesSubscription(subscription::request, subscription::cancel, subscription);
    }

    static final class BothFamiliesSubscription implements Subscription, Flow.Subscription {
        private final LongConsumer request;
        private final Runnable cancel;
        private final Object adapted;

        BothFamiliesSubscription(LongConsumer request, Runnable cancel, Object adapted) {
            this.request = request;
            this.cancel = cancel;
            this.adapted = adapted;
        }

        @Override
        public void request(long n) {
            request.accept(n);
        }

        @Override
        public void cancel() {
            cancel.run();
        }

        @Override
        public String toString() {
            return adapted.toString();
        }
    }

    private static final class ReactiveSubscriber implements Subscriber<Object> {
        private final Flow.Subscriber<? super Object> subscriber;

        ReactiveSubscriber(Flow.Subscriber<? super Object> subscriber) {
            this.subscriber = subscriber;
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            subscriber.onSubscribe(flowSubscription(subscription));
        }

        @Override
        public void onNext(Object element) {
            subscriber.onNext(element);
        }

        @Override
        public void onError(Throwable error) {
            subscriber.onError(error);
        }

        @Override
        public void onComplete() {
            subscriber.onComplete();
        }
    }

    private static final class FlowSubscriber implements Flow.Subscriber<Object> {
        private final Subscriber<? super Object> subscriber;

        FlowSubscriber(Subscriber<? super Object> subscriber) {
            this.subscriber = subscriber;
        }

        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            subscriber.onSubscribe(subscription(subscription));
        }

        @Override
        public void onNext(Object element) {
            subscriber.onNext(element);
        }

        @Override
        public void onError(Throwable error) {
            subscriber.onError(error);
        }

        @Override
        public void onComplete() {
            subscriber.onComplete();
        }
    }
}
