package io.pyrs.link.session;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/** A Subscriber that records its signals as lists, in the notation of the vectors. */
public final class RecordingSubscriber implements Subscriber<Object> {
    public final BlockingQueue<List<Object>> signals = new LinkedBlockingQueue<>();
    private final Runnable atEnd;
    public volatile Subscription subscription;
    public volatile Throwable error;

    public RecordingSubscriber() {
        this(() -> {});
    }

    public RecordingSubscriber(Runnable atEnd) {
        this.atEnd = atEnd;
    }

    @Override
    public void onSubscribe(Subscription given) {
        subscription = given;
        signals.add(List.of("on_subscribe"));
    }

    @Override
    public void onNext(Object element) {
        signals.add(List.of("on_next", element));
    }

    @Override
    public void onError(Throwable given) {
        error = given;
        signals.add(List.of("on_error", String.valueOf(given.getMessage())));
        atEnd.run();
    }

    @Override
    public void onComplete() {
        signals.add(List.of("on_complete"));
        atEnd.run();
    }

    /** Waits for the next signal. */
    public List<Object> next() throws InterruptedException {
        List<Object> signal = signals.poll(30, TimeUnit.SECONDS);
        return signal == null ? List.of("no signal in time") : signal;
    }

    /** Waits for the next {@code count} signals. */
    public List<List<Object>> next(int count) throws InterruptedException {
        List<List<Object>> seen = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            seen.add(next());
        }
        return seen;
    }
}
