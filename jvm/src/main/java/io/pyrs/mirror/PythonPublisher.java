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
 * A Python Publisher, as a Publisher of both families.
 *
 * <p>Demand: the link keeps a bounded window ahead of the Subscriber, or none where "exact" was asked for. Nothing is requested from Python
 * before the first request. Keeps rules 1.1 to 1.11 as far as the Python Publisher does; where that breaks one, the stream ends with an
 * error that cites it. Equality is identity: one Python object has one mirror in a bridge, as long as it is held.
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

    /** The same Publisher with other options. */
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

    /** For the Subscribers that are of both families. */
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
