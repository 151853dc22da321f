package interop;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import java.util.stream.Collectors;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/** A Subscriber of both families that records all signals; tests wait for them with a deadline. */
public final class Recorder implements Subscriber<Object>, Flow.Subscriber<Object> {
    private final long initial;
    private final List<Object> elements = new ArrayList<>();
    private LongConsumer request;
    private Runnable cancel;
    private Throwable error;
    private String outcome;

    public Recorder(long initial) {
        this.initial = initial;
    }

    @Override public void onSubscribe(Subscription subscription) {
        begin(subscription::request, subscription::cancel);
    }

    @Override public void onSubscribe(Flow.Subscription subscription) {
        begin(subscription::request, subscription::cancel);
    }

    private void begin(LongConsumer request, Runnable cancel) {
        synchronized (this) {
            this.request = request;
            this.cancel = cancel;
            notifyAll();
        }
        if (initial != 0) {
            request.accept(initial);
        }
    }

    @Override public synchronized void onNext(Object element) {
        if (outcome != null) {
            outcome = "an element after the terminal signal";
        }
        elements.add(element);
        notifyAll();
    }

    @Override public void onError(Throwable throwable) {
        end("error", throwable);
    }

    @Override public void onComplete() {
        end("complete", null);
    }

    private synchronized void end(String how, Throwable throwable) {
        outcome = outcome == null ? how : "two terminal signals: " + outcome + " and " + how;
        error = throwable;
        notifyAll();
    }

    public void request(long n) {
        request.accept(n);
    }

    public void cancel() {
        cancel.run();
    }

    /** Waits for the terminal signal; returns "complete", "error", or a violation. */
    public synchronized String awaitEnd(long milliseconds) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(milliseconds);
        while (outcome == null) {
            if (!await(deadline)) {
                return "no terminal signal after " + elements.size() + " elements";
            }
        }
        return outcome;
    }

    /** Waits for {@code count} elements; returns whether they arrived in time. */
    public synchronized boolean awaitElements(int count, long milliseconds) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(milliseconds);
        while (elements.size() < count) {
            if (!await(deadline)) {
                return false;
            }
        }
        return true;
    }

    private boolean await(long deadline) throws InterruptedException {
        long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
        if (left <= 0) {
            return false;
        }
        wait(left);
        return true;
    }

    public synchronized int count() {
        return elements.size();
    }

    public synchronized Object element(int index) {
        return elements.get(index);
    }

    /** Returns all elements as text, such as "1 2 3". */
    public synchronized String text() {
        return elements.stream().map(String::valueOf).collect(Collectors.joining(" "));
    }

    /** Returns the distinct classes of the elements, such as "java.lang.Integer". */
    public synchronized String classes() {
        return elements.stream().map(element -> element.getClass().getName()).distinct().collect(Collectors.joining(" "));
    }

    /** Returns class and content of each element in the notation of Table. */
    public synchronized String described() {
        return elements.stream().map(Table::describe).collect(Collectors.joining(" | "));
    }

    public synchronized long sum() {
        return elements.stream().mapToLong(element -> ((Number) element).longValue()).sum();
    }

    public synchronized Throwable error() {
        return error;
    }

    public String errorClass() {
        return error().getClass().getName();
    }

    public String errorMessage() {
        return error().getMessage();
    }
}
