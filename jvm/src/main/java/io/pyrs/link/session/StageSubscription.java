package io.pyrs.link.session;

import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import org.reactivestreams.Subscription;

/** Publishes the result of a CompletionStage; null completes the stream without an element. */
final class StageSubscription implements Subscription, BiConsumer<Object, Throwable> {
    /** Null after the end: the stage refers to this object until it completes (rule 3.13). */
    private OutboundStream stream;

    private Object result;
    private boolean requested;

    StageSubscription(OutboundStream stream) {
        this.stream = stream;
    }

    static void subscribe(CompletionStage<Object> stage, OutboundStream stream) {
        StageSubscription subscription = new StageSubscription(stream);
        stream.onSubscribe(subscription);
        stage.whenComplete(subscription);
    }

    /** Processes the result of the stage. A terminal signal without an element needs no demand. */
    @Override
    public void accept(Object value, Throwable error) {
        OutboundStream target;
        synchronized (this) {
            if (stream == null) {
                return;
            }
            if (error == null && value != null && !requested) {
                result = value;
                return;
            }
            target = end();
        }
        if (error != null) {
            target.onError(error instanceof CompletionException && error.getCause() != null ? error.getCause() : error);
        } else {
            complete(target, value);
        }
    }

    @Override
    public void request(long n) {
        OutboundStream target;
        Object value;
        synchronized (this) {
            requested = true;
            value = result;
            if (value == null) {
                return;
            }
            target = end();
        }
        complete(target, value);
    }

    private static void complete(OutboundStream target, Object value) {
        if (value != null) {
            target.onNext(value);
        }
        target.onComplete();
    }

    private OutboundStream end() {
        OutboundStream target = stream;
        stream = null;
        result = null;
        return target;
    }

    @Override
    public synchronized void cancel() {
        end();
    }
}
