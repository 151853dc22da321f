package io.pyrs.tck;

import java.util.concurrent.Flow;

/**
 * Python objects as java.util.concurrent.Flow objects.
 *
 * <p>Each method is one call to Python, without checks, buffers or state. A null arrives as None; a raised exception is
 * thrown.
 */
final class FlowProxies {
    private FlowProxies() {}

    static final class FlowPublisher extends PythonObject implements Flow.Publisher<Object> {
        FlowPublisher(PythonObject subject) {
            super(subject);
        }

        @Override
        public void subscribe(Flow.Subscriber<? super Object> subscriber) {
            call("subscribe", subscriber);
        }
    }

    static class FlowSubscriber extends PythonObject implements Flow.Subscriber<Object> {
        FlowSubscriber(PythonObject subject) {
            super(subject);
        }

        @Override
        public final void onSubscribe(Flow.Subscription subscription) {
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

    static final class FlowProcessor extends FlowSubscriber implements Flow.Processor<Object, Object> {
        FlowProcessor(PythonObject subject) {
            super(subject);
        }

        @Override
        public void subscribe(Flow.Subscriber<? super Object> subscriber) {
            call("subscribe", subscriber);
        }
    }

    static final class FlowSubscription extends PythonObject implements Flow.Subscription {
        FlowSubscription(PythonObject subject) {
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
