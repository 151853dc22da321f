package interop;

import java.util.concurrent.Flow;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.SubmissionPublisher;
import java.util.function.Function;

/** The JDK's SubmissionPublisher: with a thread that submit() blocks, and in the middle of a chain. */
public final class Submissions {
    private static final int BUFFER = 16;

    private Submissions() {}

    /** Submits 1, 2, ... on a thread that starts with the first Subscriber and stops when the last one has cancelled. */
    public static Flow.Publisher<Object> numbers(int count, Watch watch) {
        SubmissionPublisher<Object> publisher = new SubmissionPublisher<>(ForkJoinPool.commonPool(), BUFFER);
        Thread feeder = new Thread(() -> {
            for (int i = 1; i <= count && publisher.hasSubscribers(); i++) {
                publisher.submit(i);
                watch.elementConsumer().accept(i);
            }
            if (publisher.hasSubscribers()) {
                publisher.close();
            } else {
                watch.run();
            }
        }, "interop-feeder");
        feeder.setDaemon(true);
        return subscriber -> {
            publisher.subscribe(subscriber);
            feeder.start();
        };
    }

    public static Flow.Publisher<Object> failed(Throwable error) {
        SubmissionPublisher<Object> publisher = new SubmissionPublisher<>();
        publisher.closeExceptionally(error);
        return publisher;
    }

    public static Flow.Publisher<Object> assembled(Function<Object, Object> stage, Flow.Publisher<Object> source) {
        @SuppressWarnings("unchecked")
        Flow.Publisher<Object> result = (Flow.Publisher<Object>) stage.apply(source);
        return result;
    }

    public static Flow.Publisher<Object> via(Flow.Publisher<Object> source, Flow.Processor<Object, Object> processor) {
        return subscriber -> {
            processor.subscribe(subscriber);
            source.subscribe(processor);
        };
    }

    /** Doubles the elements, which must be Integers. */
    public static Flow.Publisher<Object> doubled(Flow.Publisher<Object> source) {
        return forwarded(source, element -> (Integer) element * 2);
    }

    /** Returns a SubmissionPublisher that submits the elements of another Publisher, requested one at a time. */
    public static Flow.Publisher<Object> forwarded(Flow.Publisher<Object> source, Function<Object, Object> function) {
        Forwarder forwarder = new Forwarder(function);
        return subscriber -> {
            forwarder.subscribe(subscriber);
            source.subscribe(forwarder);
        };
    }

    public static Flow.Publisher<Object> forwarded(Flow.Publisher<Object> source) {
        return forwarded(source, Function.identity());
    }

    public static Flow.Processor<Object, Object> processor() {
        return new Forwarder(Function.identity());
    }

    public static void run(Flow.Publisher<Object> source, Flow.Subscriber<Object> subscriber) {
        source.subscribe(subscriber);
    }

    private static final class Forwarder extends SubmissionPublisher<Object> implements Flow.Processor<Object, Object> {
        private final Function<Object, Object> function;
        private Flow.Subscription upstream;

        Forwarder(Function<Object, Object> function) {
            super(ForkJoinPool.commonPool(), BUFFER);
            this.function = function;
        }

        @Override public void onSubscribe(Flow.Subscription subscription) {
            upstream = subscription;
            subscription.request(1);
        }

        @Override public void onNext(Object element) {
            Object result;
            try {
                result = function.apply(element);
            } catch (RuntimeException error) {
                upstream.cancel();
                closeExceptionally(error);
                return;
            }
            if (!hasSubscribers()) {
                upstream.cancel();
                return;
            }
            submit(result);
            upstream.request(1);
        }

        @Override public void onError(Throwable error) {
            closeExceptionally(error);
        }

        @Override public void onComplete() {
            close();
        }
    }
}
