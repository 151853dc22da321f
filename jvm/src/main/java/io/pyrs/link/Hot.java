package io.pyrs.link;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Iterator;
import java.util.concurrent.SubmissionPublisher;
import java.util.stream.Stream;

/**
 * Whether a Publisher emits whether or not somebody is subscribed, as far as its type tells.
 *
 * <p>Known are the JDK's SubmissionPublisher, Processors (and with them the sinks of Reactor and RxJava), what can be connected, and the operators of Reactor and
 * RxJava over one of these. Asked once for each Publisher that goes to Python, by reflection: neither library is needed here.
 */
public final class Hot {
    /** What {@link #kindOf} adds for a hot Publisher. */
    public static final int HOT = 16;

    private static final int MAX_HOPS = 64;

    /** Found once for a class: an operator has hundreds of methods, and every method call that gives a Publisher asks. */
    private static final ClassValue<Boolean> CONNECTABLE = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            return Arrays.stream(type.getMethods()).anyMatch(method -> method.getName().equals("connect"));
        }
    };

    private Hot() {}

    /** Whether subscribing to it too late loses elements. */
    public static boolean isHot(Object publisher) {
        Object current = publisher;
        for (int hop = 0; hop < MAX_HOPS && current != null; hop++) {
            if (isHotByItself(current)) {
                return true;
            }
            current = upstream(current);
        }
        return false;
    }

    /** What an object is to the peer, and {@value #HOT} more where it is a hot Publisher. */
    public static int kindOf(Object value) {
        int kind = Families.kindOf(value);
        boolean publisher = kind == Handles.PUBLISHER || kind == Handles.PROCESSOR;
        return publisher && isHot(value) ? kind + HOT : kind;
    }

    private static boolean isHotByItself(Object publisher) {
        return publisher instanceof SubmissionPublisher
                || Families.kindOf(publisher) == Handles.PROCESSOR
                || CONNECTABLE.get(publisher.getClass());
    }

    /** What a Reactor or RxJava operator stands on; null where that cannot be told. */
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
            Class<?> type = Class.forName(interfaceName, false, target.getClass().getClassLoader());
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
