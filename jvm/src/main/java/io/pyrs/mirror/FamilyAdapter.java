package io.pyrs.mirror;

import java.util.Objects;
import java.util.concurrent.Flow;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/** Adapts a Publisher of one family to the other. Some reactive-streams jars lack FlowAdapters. */
final class FamilyAdapter {
    private FamilyAdapter() {}

    static Publisher<Object> toReactiveStreams(Flow.Publisher<Object> publisher) {
        return subscriber -> publisher.subscribe(new ToReactiveStreams(subscriber));
    }

    static Flow.Publisher<Object> toFlow(Publisher<Object> publisher) {
        return subscriber -> publisher.subscribe(new ToFlow(subscriber));
    }

    private static final class ToReactiveStreams implements Flow.Subscriber<Object> {
        private final Subscriber<? super Object> subscriber;

        ToReactiveStreams(Subscriber<? super Object> subscriber) {
            this.subscriber = Objects.requireNonNull(subscriber);
        }

        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            subscriber.onSubscribe(new Subscription() {
                @Override
                public void request(long n) {
                    subscription.request(n);
                }

                @Override
                public void cancel() {
                    subscription.cancel();
                }
            });
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

    private static final class ToFlow implements Subscriber<Object> {
        private final Flow.Subscriber<? super Object> subscriber;

        ToFlow(Flow.Subscriber<? super Object> subscriber) {
            this.subscriber = Objects.requireNonNull(subscriber);
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            subscriber.onSubscribe(new Flow.Subscription() {
                @Override
                public void request(long n) {
                    subscription.request(n);
                }

                @Override
                public void cancel() {
                    subscription.cancel();
                }
            });
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
