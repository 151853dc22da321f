package io.pyrs.link.session;

import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.reactivestreams.Subscription;

/** Publishes the result of a CompletionStage; null completes the stream without an element. */
final class StageSubscription implements Subscription {
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
            stream.onError(error instanceof CompletionException && error.getCause() != null ? error.getCause() : error);
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
