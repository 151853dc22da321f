package io.pyrs.tck;

import java.util.concurrent.Flow;
import org.reactivestreams.FlowAdapters;
import org.reactivestreams.Processor;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;

/**
 * The interfaces that a subject implements for the kit: org.reactivestreams, or java.util.concurrent.Flow behind the
 * official adapters. A subject is a {@link PythonObject}, which gets its proxy here, or a Java object of the family.
 */
enum Family {
    REACTIVE_STREAMS("reactive-streams") {
        @Override
        Publisher<Object> publisher(Object subject) {
            return subject instanceof PythonObject
                    ? new ReactiveProxies.ReactivePublisher((PythonObject) subject)
                    : cast(subject);
        }

        @Override
        Subscriber<Object> subscriber(Object subject) {
            return subject instanceof PythonObject
                    ? new ReactiveProxies.ReactiveSubscriber((PythonObject) subject)
                    : cast(subject);
        }

        @Override
        Processor<Object, Object> processor(Object subject) {
            return subject instanceof PythonObject
                    ? new ReactiveProxies.ReactiveProcessor((PythonObject) subject)
                    : cast(subject);
        }

        @Override
        Object subject(Subscriber<? super Object> subscriber) {
            return subscriber;
        }
    },

    FLOW("flow") {
        @Override
        Publisher<Object> publisher(Object subject) {
            Flow.Publisher<Object> publisher = subject instanceof PythonObject
                    ? new FlowProxies.FlowPublisher((PythonObject) subject)
                    : cast(subject);
            return FlowAdapters.toPublisher(publisher);
        }

        @Override
        Subscriber<Object> subscriber(Object subject) {
            Flow.Subscriber<Object> subscriber = subject instanceof PythonObject
                    ? new FlowProxies.FlowSubscriber((PythonObject) subject)
                    : cast(subject);
            return FlowAdapters.toSubscriber(subscriber);
        }

        @Override
        Processor<Object, Object> processor(Object subject) {
            Flow.Processor<Object, Object> processor = subject instanceof PythonObject
                    ? new FlowProxies.FlowProcessor((PythonObject) subject)
                    : cast(subject);
            return FlowAdapters.toProcessor(processor);
        }

        @Override
        Object subject(Subscriber<? super Object> subscriber) {
            return FlowAdapters.toFlowSubscriber(subscriber);
        }
    };

    private final String label;

    Family(String label) {
        this.label = label;
    }

    /** Returns the family with the name {@code label}, which Python sends. */
    static Family of(String label) {
        for (var family : values()) {
            if (family.label.equals(label)) return family;
        }
        throw new IllegalArgumentException("unknown family of interfaces: " + label);
    }

    abstract Publisher<Object> publisher(Object subject);

    abstract Subscriber<Object> subscriber(Object subject);

    abstract Processor<Object, Object> processor(Object subject);

    /** Returns the subject of a Subscriber that {@link #subscriber} created. */
    abstract Object subject(Subscriber<? super Object> subscriber);

    @SuppressWarnings("unchecked")
    private static <T> T cast(Object value) {
        return (T) value;
    }
}
