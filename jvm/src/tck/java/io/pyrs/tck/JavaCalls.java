package io.pyrs.tck;

import java.util.concurrent.Flow;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import org.reactivestreams.tck.SubscriberWhiteboxVerification.SubscriberPuppet;
import org.reactivestreams.tck.SubscriberWhiteboxVerification.WhiteboxSubscriberProbe;

/** Calls from Python to the objects of the Java kit. */
final class JavaCalls {
    private JavaCalls() {}

    /** Returns the letter that tells Python which proxy represents an object. */
    static char kind(Object object) {
        if (object instanceof Subscriber || object instanceof Flow.Subscriber) return 'S';
        if (object instanceof Subscription || object instanceof Flow.Subscription) return 's';
        if (object instanceof Publisher || object instanceof Flow.Publisher) return 'P';
        if (object instanceof WhiteboxSubscriberProbe) return 'w';
        if (object instanceof Throwable) return 't';
        return 'o';
    }

    static Object call(Object subject, String method, Object[] arguments) {
        if (subject == null) return null; // the test has ended
        if (method.equals("text")) return String.valueOf(subject);
        if (subject instanceof Subscriber) return subscriber(cast(subject), method, arguments);
        if (subject instanceof Flow.Subscriber) return flowSubscriber(cast(subject), method, arguments);
        if (subject instanceof WhiteboxSubscriberProbe) return probe(cast(subject), method, arguments);
        switch (method) {
            case "request":
                if (subject instanceof Subscription) ((Subscription) subject).request((Long) arguments[0]);
                else ((Flow.Subscription) subject).request((Long) arguments[0]);
                return null;
            case "cancel":
                if (subject instanceof Subscription) ((Subscription) subject).cancel();
                else ((Flow.Subscription) subject).cancel();
                return null;
            case "subscribe":
                if (subject instanceof Publisher)
                    JavaCalls.<Publisher<Object>>cast(subject).subscribe(subscriberOf(arguments[0]));
                else JavaCalls.<Flow.Publisher<Object>>cast(subject).subscribe(flowSubscriberOf(arguments[0]));
                return null;
            default:
                throw new IllegalArgumentException(subject + " has no " + method);
        }
    }

    private static Object subscriber(Subscriber<Object> subject, String method, Object[] arguments) {
        switch (method) {
            case "on_subscribe":
                subject.onSubscribe(subscriptionOf(arguments[0]));
                return null;
            case "on_next":
                subject.onNext(arguments[0]);
                return null;
            case "on_error":
                subject.onError((Throwable) arguments[0]);
                return null;
            case "on_complete":
                subject.onComplete();
                return null;
            default:
                throw new IllegalArgumentException(subject + " has no " + method);
        }
    }

    private static Object flowSubscriber(Flow.Subscriber<Object> subject, String method, Object[] arguments) {
        switch (method) {
            case "on_subscribe":
                subject.onSubscribe(flowSubscriptionOf(arguments[0]));
                return null;
            case "on_next":
                subject.onNext(arguments[0]);
                return null;
            case "on_error":
                subject.onError((Throwable) arguments[0]);
                return null;
            case "on_complete":
                subject.onComplete();
                return null;
            default:
                throw new IllegalArgumentException(subject + " has no " + method);
        }
    }

    private static Object probe(WhiteboxSubscriberProbe<Object> subject, String method, Object[] arguments) {
        switch (method) {
            case "register_on_subscribe":
                subject.registerOnSubscribe(puppetOf(arguments[0]));
                return null;
            case "register_on_next":
                subject.registerOnNext(arguments[0]);
                return null;
            case "register_on_error":
                subject.registerOnError((Throwable) arguments[0]);
                return null;
            case "register_on_complete":
                subject.registerOnComplete();
                return null;
            default:
                throw new IllegalArgumentException(subject + " has no " + method);
        }
    }

    // A Python object gets the proxy of the parameter's type here.

    private static Subscription subscriptionOf(Object value) {
        return value instanceof PythonObject
                ? new ReactiveProxies.ReactiveSubscription((PythonObject) value)
                : (Subscription) value;
    }

    private static Flow.Subscription flowSubscriptionOf(Object value) {
        return value instanceof PythonObject
                ? new FlowProxies.FlowSubscription((PythonObject) value)
                : (Flow.Subscription) value;
    }

    private static Subscriber<Object> subscriberOf(Object value) {
        return value instanceof PythonObject
                ? new ReactiveProxies.ReactiveSubscriber((PythonObject) value)
                : cast(value);
    }

    private static Flow.Subscriber<Object> flowSubscriberOf(Object value) {
        return value instanceof PythonObject ? new FlowProxies.FlowSubscriber((PythonObject) value) : cast(value);
    }

    private static SubscriberPuppet puppetOf(Object value) {
        if (value == null) return null;
        var puppet = (PythonObject) value;
        return new SubscriberPuppet() {
            @Override
            public void triggerRequest(long elements) {
                puppet.call("trigger_request", elements);
            }

            @Override
            public void signalCancel() {
                puppet.call("signal_cancel");
            }
        };
    }

    @SuppressWarnings("unchecked")
    private static <T> T cast(Object value) {
        return (T) value;
    }
}
