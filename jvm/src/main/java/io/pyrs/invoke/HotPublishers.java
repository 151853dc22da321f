package io.pyrs.invoke;

import io.pyrs.ObjectKind;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Iterator;
import java.util.concurrent.SubmissionPublisher;
import java.util.stream.Stream;

/**
 * Detects hot Publishers, which emit independently of their Subscribers.
 *
 * <p>The hot Publishers are the JDK's SubmissionPublisher, Processors (which include the sinks of Reactor and RxJava),
 * Publishers with a method connect, and the operators of Reactor and RxJava on top of one of these. Reflection
 * avoids a dependency on either library. Each Publisher is examined once, when it is sent to Python.
 */
public final class HotPublishers {
    /** The flag that {@link #kindCode} adds for a hot Publisher. */
    public static final int HOT = 16;

    private static final int MAX_HOPS = 64;

    /** Cached by class, since an operator has hundreds of methods. */
    private static final ClassValue<Boolean> CONNECTABLE = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            return Arrays.stream(type.getMethods())
                    .anyMatch(method -> method.getName().equals("connect"));
        }
    };

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

    private static boolean isHotSource(Object publisher) {
        return publisher instanceof SubmissionPublisher
                || ObjectKind.of(publisher) == ObjectKind.PROCESSOR
                || CONNECTABLE.get(publisher.getClass());
    }

    /** Returns the upstream of a Reactor or RxJava operator, or null if it is unknown. */
    private static Object upstream(Object publisher) {
        Object parents = call(publisher, "reactor.core.Scannable", "parents");
        if (parents instanceof Stream) {
            try (Stream<?> stream = (Stream<?>) parents) {
                Iterator<?> first = stream.iterator();
                return first.hasNext() ? first.next() : null;
            }
        }
        return call(publisher, "io.reactivex.rxjava3.internal.fuseable.HasUpstreamPublisher", "source");
    }

    private static Object call(Object target, String interfaceName, String method) {
        try {
            Class<?> type =
                    Class.forName(interfaceName, false, target.getClass().getClassLoader());
            if (!type.isInstance(target)) {
                return null;
            }
            Method found = type.getMethod(method);
            return found.invoke(target);
        } catch (ReflectiveOperationException | LinkageError | RuntimeException unknown) {
            return null;
        }
    }
}
