package io.pyrs;

import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;

/** The kinds of objects that travel by reference, whose codes docs/values.md lists. */
public enum ObjectKind {
    OBJECT,
    PUBLISHER,
    SUBSCRIBER,
    PROCESSOR,
    COMPLETION_STAGE,
    /** Emits at most one element; its class need not implement Publisher. */
    MAYBE,
    /** Emits exactly one element; its class need not implement Publisher. */
    SINGLE;

    private static final ObjectKind[] KINDS = values();

    /** The types that emit at most one element, by name, which avoids a dependency on these libraries. */
    private static final Map<String, ObjectKind> SINGLE_TYPES = Map.of(
            "reactor.core.publisher.Mono", MAYBE,
            "io.helidon.common.reactive.Single", MAYBE,
            "io.smallrye.mutiny.Uni", MAYBE,
            "io.reactivex.rxjava3.core.Single", SINGLE,
            "io.reactivex.rxjava3.core.Maybe", MAYBE,
            "io.reactivex.rxjava3.core.Completable", MAYBE);

    /** Cached by class, since the kind is needed for each element that is a reference. */
    private static final ClassValue<ObjectKind> BY_CLASS = Classes.cached(ObjectKind::ofClass);

    public static ObjectKind of(Object value) {
        return value == null ? OBJECT : BY_CLASS.get(value.getClass());
    }

    private static ObjectKind ofClass(Class<?> type) {
        boolean subscriber = isAny(type, Subscriber.class, Flow.Subscriber.class);
        if (isAny(type, Publisher.class, Flow.Publisher.class)) {
            return subscriber ? PROCESSOR : singleType(type, PUBLISHER);
        }
        // A CompletionStage takes precedence: the result of Reactor's Mono.toFuture() is a Subscriber as well.
        return CompletionStage.class.isAssignableFrom(type)
                ? COMPLETION_STAGE
                : subscriber ? SUBSCRIBER : singleType(type, OBJECT);
    }

    /** Returns the kind of the first of the SINGLE_TYPES among the type and its supertypes, else {@code otherwise}. */
    private static ObjectKind singleType(Class<?> type, ObjectKind otherwise) {
        Class<?> nearest = Classes.nearest(type, SINGLE_TYPES.keySet());
        return nearest == null ? otherwise : SINGLE_TYPES.get(nearest.getName());
    }

    private static boolean isAny(Class<?> type, Class<?> first, Class<?> second) {
        return first.isAssignableFrom(type) || second.isAssignableFrom(type);
    }

    /** Returns the kind that has this code, or OBJECT for an unknown code. */
    public static ObjectKind ofCode(int code) {
        return isCode(code) ? KINDS[code] : OBJECT;
    }

    public static boolean isCode(int code) {
        return code >= 0 && code < KINDS.length;
    }

    public int code() {
        return ordinal();
    }

    /** Returns whether objects of this kind emit elements, even if they do not implement Publisher. */
    public boolean isSource() {
        return this == PUBLISHER || this == PROCESSOR || this == MAYBE || this == SINGLE;
    }

    /** Returns whether objects of this kind receive a Subscription. */
    public boolean isSubscriber() {
        return this == SUBSCRIBER || this == PROCESSOR;
    }
}
