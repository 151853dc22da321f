package io.pyrs.invoke;

import io.pyrs.Classes;
import io.pyrs.ObjectKind;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.SubmissionPublisher;
import java.util.stream.Stream;

/**
 * Detects hot Publishers, which emit independently of their Subscribers.
 *
 * <p>The hot Publishers are the JDK's SubmissionPublisher, Processors, Reactor's Sinks.Many, Publishers with a method
 * connect, and the operators of Reactor, RxJava and Mutiny that expose one of these as their source. Reflection
 * avoids a dependency on these libraries. A Publisher is examined when it is passed to Python, not for each
 * subscription.
 */
public final class HotPublishers {
    /** The flag that {@link #kindCode} adds for a hot Publisher. */
    public static final int HOT = 16;

    private static final int MAX_HOPS = 64;

    private static final Set<String> SINKS = Set.of("reactor.core.publisher.Sinks$Many");

    /** The methods that return the source of an operator, by the type that declares them. */
    private static final Map<String, String> SOURCES = Map.of(
            "reactor.core.Scannable", "parents",
            "io.reactivex.rxjava3.internal.fuseable.HasUpstreamPublisher", "source",
            "io.smallrye.mutiny.operators.multi.AbstractMultiOperator", "upstream");

    /** Cached by class, since an operator has hundreds of methods. */
    private static final ClassValue<Boolean> IS_HOT =
            Classes.cached(type -> SubmissionPublisher.class.isAssignableFrom(type)
                    || Classes.nearest(type, SINKS) != null // some are not Processors
                    || Arrays.stream(type.getMethods())
                            .anyMatch(method -> method.getName().equals("connect")));

    private static final ClassValue<Optional<Method>> SOURCE = Classes.cached(HotPublishers::source);

    private HotPublishers() {}

    /** Returns whether a Publisher is hot, so that a late Subscriber misses elements. */
    public static boolean isHot(Object publisher) {
        Object current = publisher;
        for (int hop = 0; hop < MAX_HOPS && current != null; hop++) {
            if (isHotSource(current)) {
                return true;
            }
            current = upstream(current);
        }
        return false;
    }

    /** Returns the code of the kind of an object, plus {@value #HOT} for a hot Publisher. */
    public static int kindCode(Object value) {
        ObjectKind kind = ObjectKind.of(value);
        return kind.isSource() && isHot(value) ? kind.code() + HOT : kind.code();
    }

    private static Optional<Method> source(Class<?> type) {
        Class<?> declaring = Classes.nearest(type, SOURCES.keySet());
        return declaring == null
                ? Optional.empty()
                : Arrays.stream(declaring.getMethods())
                        .filter(method -> method.getName().equals(SOURCES.get(declaring.getName()))
                                && method.getParameterCount() == 0)
                        .findFirst();
    }

    private static boolean isHotSource(Object publisher) {
        return ObjectKind.of(publisher) == ObjectKind.PROCESSOR || IS_HOT.get(publisher.getClass());
    }

    /** Returns the source that an operator of Reactor, RxJava or Mutiny exposes; null if it is unknown. */
    private static Object upstream(Object publisher) {
        Optional<Method> method = SOURCE.get(publisher.getClass());
        try {
            Object source = method.isPresent() ? method.get().invoke(publisher) : null;
            if (source instanceof Stream) { // Reactor returns all operators above, nearest first
                try (Stream<?> parents = (Stream<?>) source) {
                    return parents.findFirst().orElse(null);
                }
            }
            return source;
        } catch (ReflectiveOperationException | RuntimeException unknown) {
            return null;
        }
    }
}
