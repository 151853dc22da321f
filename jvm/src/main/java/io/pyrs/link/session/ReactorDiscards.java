package io.pyrs.link.session;

import io.pyrs.Log;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.function.Consumer;

/**
 * Passes dropped elements to the functions of Reactor's {@code doOnDiscard}, which are in the Context of a Reactor
 * Subscriber. Reflection avoids a dependency on Reactor.
 */
final class ReactorDiscards {
    /** The key of the functions in the Context: Hooks.KEY_ON_DISCARD, which is not public. */
    private static final String KEY = "reactor.onDiscard.local";

    private ReactorDiscards() {}

    /** Returns the function for the dropped elements of a Subscriber, or null if it has none. */
    static Consumer<Object> of(Object subscriber) {
        try {
            Class<?> reactor = ReactorContexts.coreSubscriber(subscriber);
            if (reactor == null) {
                return null;
            }
            ClassLoader loader = reactor.getClassLoader();
            Object context = reactor.getMethod("currentContext").invoke(subscriber);
            Class<?> contextType = Class.forName("reactor.util.context.Context", false, loader);
            if (!(boolean) contextType.getMethod("hasKey", Object.class).invoke(context, KEY)) {
                return null;
            }
            Method discard = Class.forName("reactor.core.publisher.Operators", false, loader)
                    .getMethod("onDiscard", Object.class, contextType);
            return element -> pass(discard, element, context);
        } catch (ReflectiveOperationException | LinkageError | RuntimeException notReactor) {
            return null;
        }
    }

    private static void pass(Method discard, Object element, Object context) {
        try {
            discard.invoke(null, element, context);
        } catch (IllegalAccessException | InvocationTargetException broken) { // for example in a third-party Context
            Log.warning("a function for discarded elements could not be called", broken);
        }
    }
}
