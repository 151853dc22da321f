package io.pyrs.mirror;

import io.pyrs.PeerProxy;
import io.pyrs.PeerReference;
import io.pyrs.link.session.Session;
import io.pyrs.link.session.StreamOptions;
import java.util.Objects;
import java.util.concurrent.Flow;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;

/**
 * A Python Publisher as a Publisher of both families, org.reactivestreams and Flow.
 *
 * <p>Demand: the link requests a bounded window ahead of the Subscriber, or with the option "exact" exactly the
 * Subscriber's demand. The link requests nothing before the first request of the Subscriber. If the Python Publisher
 * breaks a rule, the stream ends with an error that cites the rule. Equality is identity: a bridge has one mirror
 * without options for a Python object at a time, and each mirror with options is a separate object.
 */
public final class PythonPublisher implements Publisher<Object>, Flow.Publisher<Object>, PeerProxy {
    private final Session session;
    private final PeerReference reference;
    private final StreamOptions options;

    public PythonPublisher(Session session, PeerReference reference, StreamOptions options) {
        this.session = session;
        this.reference = reference;
        this.options = options;
    }

    /** Returns a mirror of the same Publisher with other options. */
    PythonPublisher with(StreamOptions others) {
        return others.isDefault() ? this : new PythonPublisher(session, reference, others);
    }

    @Override
    public void subscribe(Subscriber<? super Object> subscriber) {
        open(subscriber);
    }

    @Override
    public void subscribe(Flow.Subscriber<? super Object> subscriber) {
        open(subscriber);
    }

    /** Subscribes a Subscriber of both families. */
    public void subscribe(BothFamiliesSubscriber subscriber) {
        open(subscriber);
    }

    /** Subscribes a Subscriber of either family. JPype calls it for a {@code JavaObject} of Python. */
    public void subscribe(Object subscriber) {
        open(subscriber);
    }

    private void open(Object subscriber) {
        Objects.requireNonNull(subscriber, "rule 1.9: subscribe(null)");
        session.subscribe(reference, subscriber, options);
    }

    @Override
    public PeerReference reference() {
        return reference;
    }

    @Override
    public String toString() {
        return "PythonPublisher[" + reference + (session.isOpen() ? "]" : ", closed]");
    }
}
