package io.pyrs.link.session;

import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/** Adapts the interfaces of org.reactivestreams and java.util.concurrent.Flow to common ones. */
final class Families {
    private Families() {}

    /** A Subscription of either family. */
    interface Upstream {
        void request(long n);

        void cancel();
    }

    /** A Subscriber of either family. */
    interface Downstream {
        void onSubscribe(InboundStream stream);

        void onNext(Object element);

        void onError(Throwable error);

        void onComplete();
    }

    /** Subscribes to a Publisher of either family, or to a CompletionStage as a Publisher of its result. */
    @SuppressWarnings("unchecked")
    static void subscribe(Object publisher, OutboundStream stream) {
        if (publisher instanceof Publisher) {
            ((Publisher<Object>) publisher).subscribe(stream);
        } else if (publisher instanceof Flow.Publisher) {
            ((Flow.Publisher<Object>) publisher).subscribe(stream);
        } else if (publisher instanceof CompletionStage) {
            new StageSubscription((CompletionStage<Object>) publisher, stream).start();
        } else {
            throw new IllegalArgumentException("a " + publisher.getClass().getName() + " is not a Publisher");
        }
    }

    static Upstream upstream(Subscription subscription) {
        return new Upstream() {
            @Override
            public void request(long n) {
                subscription.request(n);
            }

            @Override
            public void cancel() {
                subscription.cancel();
            }

            @Override
            public String toString() {
                return subscription.toString();
            }
        };
    }

    static Upstream upstream(Flow.Subscription subscription) {
        return new Upstream() {
            @Override
            public void request(long n) {
                subscription.request(n);
            }

            @Override
            public void cancel() {
                subscription.cancel();
            }

            @Override
            public String toString() {
                return subscription.toString();
            }
        };
    }

    @SuppressWarnings("unchecked")
    static Downstream downstream(Object subscriber) {
        if (!(subscriber instanceof Subscriber || subscriber instanceof Flow.Subscriber)) {
            throw new IllegalArgumentException("a " + subscriber.getClass().getName() + " is not a Subscriber");
        }
        return subscriber instanceof Subscriber
                ? new OfReactiveStreams((Subscriber<Object>) subscriber)
                : new OfFlow((Flow.Subscriber<Object>) subscriber);
    }

    private static final class OfReactiveStreams implements Downstream {
        private final Subscriber<Object> subscriber;

        OfReactiveStreams(Subscriber<Object> subscriber) {
            this.subscriber = subscriber;
        }

        @Override
        public void onSubscribe(InboundStream stream) {
            subscriber.onSubscribe(stream);
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

    private static final class OfFlow implements Downstream {
        private final Flow.Subscriber<Object> subscriber;

        OfFlow(Flow.Subscriber<Object> subscriber) {
            this.subscriber = subscriber;
        }

        @Override
        public void onSubscribe(InboundStream stream) {
            subscriber.onSubscribe(stream);
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

    /** Publishes the result of a CompletionStage; null completes the stream without an element. */
    private static final class StageSubscription implements Subscription {
        private final CompletionStage<Object> stage;
        private final OutboundStream stream;
        private boolean requested;
        private boolean cancelled;

        StageSubscription(CompletionStage<Object> stage, OutboundStream stream) {
            this.stage = stage;
            this.stream = stream;
        }

        void start() {
            stream.onSubscribe(this);
            // A terminal signal without an element needs no demand.
            stage.whenComplete((value, error) -> {
                if (error != null || value == null) {
                    settle(null, error);
                }
            });
        }

        @Override
        public void request(long n) {
            synchronized (this) {
                if (requested) {
                    return;
                }
                requested = true;
            }
            stage.whenComplete((value, error) -> {
                if (error == null && value != null) {
                    settle(value, null);
                }
            });
        }

        private void settle(Object value, Throwable error) {
            synchronized (this) {
                if (cancelled) {
                    return;
                }
            }
            if (error != null) {
                stream.onError(
                        error instanceof java.util.concurrent.CompletionException && error.getCause() != null
                                ? error.getCause()
                                : error);
                return;
            }
            if (value != null) {
                stream.onNext(value);
            }
            stream.onComplete();
        }

        @Override
        public synchronized void cancel() {
            cancelled = true;
        }
    }
}
