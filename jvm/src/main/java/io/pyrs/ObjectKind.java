package io.pyrs;

import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;

/** The kinds of objects that travel by reference, with their codes in docs/protocol.md. */
public enum ObjectKind {
    OBJECT,
    PUBLISHER,
    SUBSCRIBER,
    PROCESSOR,
    COMPLETION_STAGE;

    private static final ObjectKind[] KINDS = values();

    /** Cached by class, since the kind is needed for each element that is a reference. */
    private static final ClassValue<ObjectKind> BY_CLASS = new ClassValue<>() {
        @Override
        protected ObjectKind computeValue(Class<?> type) {
            return of(type);
        }
    };

    /** Returns the kind of an object. */
    public static ObjectKind of(Object value) {
        return value == null ? OBJECT : BY_CLASS.get(value.getClass());
    }

    private static ObjectKind of(Class<?> type) {
        boolean subscriber = isAny(type, Subscriber.class, Flow.Subscriber.class);
        if (isAny(type, Publisher.class, Flow.Publisher.class)) {
            return subscriber ? PROCESSOR : PUBLISHER;
        }
        // A CompletionStage takes precedence: the result of Reactor's Mono.toFuture() is a Subscriber as well.
        return CompletionStage.class.isAssignableFrom(type) ? COMPLETION_STAGE : subscriber ? SUBSCRIBER : OBJECT;
    }

    private static boolean isAny(Class<?> type, Class<?> first, Class<?> second) {
        return first.isAssignableFrom(type) || second.isAssignableFrom(type);
    }

    /** Returns the kind of a code; an unknown code means a plain object. */
    public static ObjectKind ofCode(int code) {
        return isCode(code) ? KINDS[code] : OBJECT;
    }

    /** Returns whether a code is that of a kind. */
    public static boolean isCode(int code) {
        return code >= 0 && code < KINDS.length;
    }

    public int code() {
        return ordinal();
    }

    /** Returns whether objects of this kind can be subscribed to as Publishers. */
    public boolean isPublisher() {
        return this == PUBLISHER || this == PROCESSOR;
    }

    /** Returns whether objects of this kind take a Subscription. */
    public boolean isSubscriber() {
        return this == SUBSCRIBER || this == PROCESSOR;
    }
}
