package io.pyrs.link;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/** A Subscriber that remembers what it saw: each signal is a list, as the vectors write it. */
final class Recording implements Subscriber<Object> {
    final BlockingQueue<List<Object>> signals = new LinkedBlockingQueue<>();
    private final Runnable atEnd;
    volatile Subscription subscription;
    volatile Throwable error;

    Recording() {
        this(() -> {});
    }

    Recording(Runnable atEnd) {
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

    /** The next signal, waited for. */
    List<Object> next() throws InterruptedException {
        List<Object> signal = signals.poll(30, TimeUnit.SECONDS);
        return signal == null ? List.of("nothing came in time") : signal;
    }

    /** So many signals, waited for. */
    List<List<Object>> next(int count) throws InterruptedException {
        List<List<Object>> seen = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            seen.add(next());
        }
        return seen;
    }
}
