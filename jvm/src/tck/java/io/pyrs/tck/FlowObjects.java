package io.pyrs.tck;

import java.util.concurrent.Flow;

/**
 * Python's objects as java.util.concurrent.Flow: nothing but calls. No check, no buffer, no state: a null goes to Python as None,
 * and what Python raises is thrown.
 */
final class FlowObjects {
    private FlowObjects() {}

    static final class PythonPublisher extends Remote implements Flow.Publisher<Object> {
        PythonPublisher(Scope scope, long id) {
            super(scope, id);
        }

        @Override public void subscribe(Flow.Subscriber<? super Object> subscriber) {
            call("subscribe", subscriber);
        }
    }

    static class PythonSubscriber extends Remote implements Flow.Subscriber<Object> {
        PythonSubscriber(Scope scope, long id) {
            super(scope, id);
        }

        @Override public final void onSubscribe(Flow.Subscription subscription) {
            call("on_subscribe", subscription);
        }

        @Override public final void onNext(Object element) {
            call("on_next", element);
        }

        @Override public final void onError(Throwable error) {
            call("on_error", error);
        }

        @Override public final void onComplete() {
            call("on_complete");
        }
    }

    static final class PythonProcessor extends PythonSubscriber implements Flow.Processor<Object, Object> {
        PythonProcessor(Scope scope, long id) {
            super(scope, id);
        }

        @Override public void subscribe(Flow.Subscriber<? super Object> subscriber) {
            call("subscribe", subscriber);
        }
    }

    static final class PythonSubscription extends Remote implements Flow.Subscription {
        PythonSubscription(Scope scope, long id) {
            super(scope, id);
        }

        @Override public void request(long n) {
            call("request", n);
        }

        @Override public void cancel() {
            call("cancel");
        }
    }
}
