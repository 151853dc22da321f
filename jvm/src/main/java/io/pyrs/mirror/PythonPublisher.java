package io.pyrs.mirror;

import io.pyrs.link.Reference;
import io.pyrs.link.Session;
import io.pyrs.link.StandIn;
import io.pyrs.link.StreamOptions;
import java.util.Objects;
import java.util.concurrent.Flow;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;

/**
 * A Python Publisher as a Publisher of both families.
 *
 * <p>Demand: the link requests a bounded window ahead of the Subscriber, or exactly its demand with the option "exact".
 * It requests nothing before the first request of the Subscriber. If the Python Publisher breaks a rule, the stream ends
 * with an error that cites it. A bridge has one mirror for a Python object at a time; equality is identity.
 */
public final class PythonPublisher implements Publisher<Object>, Flow.Publisher<Object>, StandIn {
    private final Session session;
    private final Reference reference;
    private final StreamOptions options;

    public PythonPublisher(Session session, Reference reference, StreamOptions options) {
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

    private void open(Object subscriber) {
        Objects.requireNonNull(subscriber, "rule 1.9: subscribe(null)");
        session.subscribe(reference, subscriber, options);
    }

    @Override
    public Reference reference() {
        return reference;
    }

    @Override
    public String toString() {
        return "PythonPublisher[" + reference + (session.isOpen() ? "]" : ", closed]");
    }
}
