package io.pyrs.mirror;

import io.pyrs.PeerReference;
import io.pyrs.link.session.Session;
import io.pyrs.link.session.StreamOptions;
import java.util.concurrent.Flow;
import org.reactivestreams.Processor;
import org.reactivestreams.Subscriber;

/**
 * A Python Processor as a Processor of org.reactivestreams and of Flow: a {@link PythonSubscriber} and a
 * {@link PythonPublisher}.
 */
public final class PythonProcessor extends PythonSubscriber
        implements Processor<Object, Object>, Flow.Processor<Object, Object> {
    private final PythonPublisher publisher;

    public PythonProcessor(Session session, PeerReference reference, StreamOptions options) {
        super(session, reference, options);
        publisher = new PythonPublisher(session, reference, options);
    }

    PythonPublisher publisher() {
        return publisher;
    }

    @Override
    public void subscribe(Subscriber<? super Object> subscriber) {
        publisher.subscribe(subscriber);
    }

    @Override
    public void subscribe(Flow.Subscriber<? super Object> subscriber) {
        publisher.subscribe(subscriber);
    }

    /** Subscribes a Subscriber of both families. */
    public void subscribe(BothFamiliesSubscriber subscriber) {
        publisher.subscribe(subscriber);
    }

    /** Subscribes a Subscriber of either family. */
    public void subscribe(Object subscriber) {
        publisher.subscribe(subscriber);
    }
}
