package io.pyrs.mirror;

import io.pyrs.Log;
import io.pyrs.PeerProxy;
import io.pyrs.PeerReference;
import io.pyrs.link.session.Families;
import io.pyrs.link.session.OutboundStream;
import io.pyrs.link.session.Session;
import io.pyrs.link.session.StreamOptions;
import java.util.Objects;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicBoolean;
import org.reactivestreams.Subscription;

/**
 * A Python Subscriber as a Subscriber of org.reactivestreams and of Flow, for one subscription.
 *
 * <p>Each element is encoded inside {@code onNext}, so the Publisher may reuse it. Rules: 2.2 (onNext does not wait for
 * Python), 2.5 and 2.12 (a second Subscription is cancelled), 2.13 (null throws a NullPointerException).
 *
 * <p>A Publisher that breaks rule 1.1 or 1.3 is cancelled, and Python receives an error that cites the rule. A signal
 * before onSubscribe (rule 1.9) throws an IllegalStateException. A signal after a terminal signal (rule 1.7) is
 * dropped, and so is a signal after the Subscription was cancelled because no stream could be opened.
 */
public class PythonSubscriber implements BothFamiliesSubscriber, PeerProxy {
    private final Session session;
    private final PeerReference reference;
    private final StreamOptions options;
    private final AtomicBoolean subscribed = new AtomicBoolean();
    private volatile OutboundStream stream;
    /** No stream could be opened, because the link has ended or has too many streams. */
    private volatile boolean refused;

    public PythonSubscriber(Session session, PeerReference reference, StreamOptions options) {
        this.session = session;
        this.reference = reference;
        this.options = options;
    }

    @Override
    public final void onSubscribe(Flow.Subscription subscription) {
        onSubscribe(Families.subscription(Objects.requireNonNull(subscription, "rule 2.13: onSubscribe(null)")));
    }

    @Override
    public final void onSubscribe(Subscription subscription) {
        Objects.requireNonNull(subscription, "rule 2.13: onSubscribe(null)");
        if (!subscribed.compareAndSet(false, true)) {
            subscription.cancel(); // rule 2.5
            return;
        }
        try {
            OutboundStream opened = session.openTo(reference, options);
            stream = opened;
            opened.onSubscribe(subscription);
        } catch (RuntimeException failure) {
            refused = true;
            Log.debug("a stream to a Subscriber in Python could not be opened", failure);
            subscription.cancel();
        }
    }

    @Override
    public final void onNext(Object element) {
        OutboundStream opened = opened(element, "onNext");
        if (opened != null) {
            opened.onNext(element);
        }
    }

    @Override
    public final void onError(Throwable error) {
        OutboundStream opened = opened(error, "onError");
        if (opened != null) {
            opened.onError(error);
        }
    }

    @Override
    public final void onComplete() {
        OutboundStream opened = opened(this, "onComplete");
        if (opened != null) {
            opened.onComplete();
        }
    }

    /** Returns the stream; null after it was refused, since a Publisher may signal after a cancel (rule 2.8). */
    private OutboundStream opened(Object argument, String signal) {
        Objects.requireNonNull(argument, () -> "rule 2.13: " + signal + "(null)");
        OutboundStream opened = stream;
        if (opened == null && !refused) {
            throw new IllegalStateException("rule 1.9: " + signal + " before onSubscribe");
        }
        return opened;
    }

    @Override
    public final PeerReference reference() {
        return reference;
    }

    @Override
    public String toString() {
        OutboundStream opened = stream;
        return getClass().getSimpleName() + "[" + reference + (opened == null ? "" : ", " + opened) + "]";
    }
}
