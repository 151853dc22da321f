package interop;

import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.SubmissionPublisher;
import org.reactivestreams.Processor;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import org.reactivestreams.example.unicast.AsyncIterablePublisher;
import org.reactivestreams.example.unicast.AsyncSubscriber;
import org.reactivestreams.example.unicast.RangePublisher;
import org.reactivestreams.example.unicast.SyncSubscriber;

/** Java components for the Python TCK: the examples of the specification, and Python components behind Java objects. */
public final class Parties {
    private static final Executor EXECUTOR = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "interop-examples");
        thread.setDaemon(true);
        return thread;
    });

    private Parties() {}

    public static Publisher<Integer> range(int count) {
        return new RangePublisher(1, count);
    }

    /** Returns a Publisher of 1, 2, ... on the threads of an Executor. */
    public static Publisher<Integer> asyncRange(int count) {
        Iterable<Integer> numbers = () -> java.util.stream.IntStream.rangeClosed(1, count).iterator();
        return new AsyncIterablePublisher<>(numbers, EXECUTOR);
    }

    public static Subscriber<Object> syncSubscriber() {
        return new SyncSubscriber<Object>() {
            @Override protected boolean whenNext(Object element) {
                return true;
            }
        };
    }

    public static Subscriber<Object> asyncSubscriber() {
        return new AsyncSubscriber<Object>(EXECUTOR) {
            @Override protected boolean whenNext(Object element) {
                return true;
            }
        };
    }

    /** Returns the JDK's publisher, to which a thread submits after the first subscription, as in the TCK's own verification. */
    public static Flow.Publisher<Object> submissions(int count) {
        SubmissionPublisher<Object> publisher = new SubmissionPublisher<>();
        if (count == 0) {
            publisher.close();
            return publisher;
        }
        Thread feeder = new Thread(() -> {
            while (!publisher.hasSubscribers() && !publisher.isClosed()) {
                try {
                    Thread.sleep(1);
                } catch (InterruptedException interrupted) {
                    return;
                }
            }
            for (int i = 1; i <= count && publisher.hasSubscribers(); i++) {
                publisher.submit(i);
            }
            publisher.close();
        }, "interop-submissions");
        feeder.setDaemon(true);
        feeder.start();
        return publisher;
    }

    /** Wraps a Publisher in a Java object, so that Python does not recognise its own Publisher. */
    public static Publisher<Object> hiddenPublisher(Publisher<Object> publisher) {
        return publisher::subscribe;
    }

    public static Processor<Object, Object> hiddenProcessor(Processor<Object, Object> processor) {
        Subscriber<Object> front = hiddenSubscriber(processor);
        return new Processor<>() {
            @Override public void subscribe(Subscriber<? super Object> subscriber) {
                processor.subscribe(subscriber);
            }

            @Override public void onSubscribe(Subscription subscription) {
                front.onSubscribe(subscription);
            }

            @Override public void onNext(Object element) {
                front.onNext(element);
            }

            @Override public void onError(Throwable error) {
                front.onError(error);
            }

            @Override public void onComplete() {
                front.onComplete();
            }
        };
    }

    public static Subscriber<Object> hiddenSubscriber(Subscriber<Object> subscriber) {
        return new Subscriber<>() {
            @Override public void onSubscribe(Subscription subscription) {
                subscriber.onSubscribe(subscription);
            }

            @Override public void onNext(Object element) {
                subscriber.onNext(element);
            }

            @Override public void onError(Throwable error) {
                subscriber.onError(error);
            }

            @Override public void onComplete() {
                subscriber.onComplete();
            }
        };
    }
}
