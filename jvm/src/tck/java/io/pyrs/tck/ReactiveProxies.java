package io.pyrs.tck;

import org.reactivestreams.Processor;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * Python objects as org.reactivestreams objects.
 *
 * <p>Each method is one call to Python, without checks, buffers or state. A null arrives as None; a raised exception is
 * thrown.
 */
final class ReactiveProxies {
    private ReactiveProxies() {}

    static final class ReactivePublisher extends PythonObject implements Publisher<Object> {
        ReactivePublisher(PythonObject subject) {
            super(subject);
        }

        @Override
        public void subscribe(Subscriber<? super Object> subscriber) {
            call("subscribe", subscriber);
        }
    }

    static class ReactiveSubscriber extends PythonObject implements Subscriber<Object> {
        ReactiveSubscriber(PythonObject subject) {
            super(subject);
        }

        @Override
        public final void onSubscribe(Subscription subscription) {
            call("on_subscribe", subscription);
        }

        @Override
        public final void onNext(Object element) {
            call("on_next", element);
        }

        @Override
        public final void onError(Throwable error) {
            call("on_error", error);
        }

        @Override
        public final void onComplete() {
            call("on_complete");
        }
    }

    static final class ReactiveProcessor extends ReactiveSubscriber implements Processor<Object, Object> {
        ReactiveProcessor(PythonObject subject) {
            super(subject);
        }

        @Override
        public void subscribe(Subscriber<? super Object> subscriber) {
            call("subscribe", subscriber);
        }
    }

    static final class ReactiveSubscription extends PythonObject implements Subscription {
        ReactiveSubscription(PythonObject subject) {
            super(subject);
        }

        @Override
        public void request(long n) {
            call("request", n);
        }

        @Override
        public void cancel() {
            call("cancel");
        }
    }
}
