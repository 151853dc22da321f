package io.pyrs.link.session;

import io.pyrs.Classes;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.reactivestreams.Publisher;

/**
 * Reads and writes Reactor's Context, which the option "context" of SUBSCRIBE carries. Reflection avoids a dependency on
 * Reactor.
 */
final class ReactorContexts {
    /** The largest total length of the entries in characters, since SUBSCRIBE is never fragmented. */
    private static final int MAX_LENGTH = 8_192;

    /** CoreSubscriber, for a class that implements it. */
    private static final ClassValue<Class<?>> REACTOR =
            Classes.cached(type -> Classes.nearest(type, Set.of("reactor.core.CoreSubscriber")));

    private ReactorContexts() {}

    /** Returns Reactor's CoreSubscriber if the Subscriber implements it, otherwise null. */
    static Class<?> coreSubscriber(Object subscriber) {
        return REACTOR.get(subscriber.getClass());
    }

    /**
     * Returns the entries of a Reactor Subscriber's Context whose key and value are strings, except those with a lone
     * surrogate or beyond the total length.
     */
    static Map<String, String> of(Object subscriber) {
        Map<String, String> entries = new LinkedHashMap<>();
        int[] left = {MAX_LENGTH};
        try {
            Class<?> reactor = coreSubscriber(subscriber);
            if (reactor != null) {
                Object context = reactor.getMethod("currentContext").invoke(subscriber);
                Class<?> view = Class.forName("reactor.util.context.ContextView", false, reactor.getClassLoader());
                try (Stream<?> stream = (Stream<?>) view.getMethod("stream").invoke(context)) {
                    stream.forEach(each -> add(entries, (Map.Entry<?, ?>) each, left));
                }
            }
        } catch (ReflectiveOperationException | LinkageError | RuntimeException notReactor) {
            return Map.of();
        }
        return entries;
    }

    private static void add(Map<String, String> entries, Map.Entry<?, ?> entry, int[] left) {
        if (entry.getKey() instanceof String && entry.getValue() instanceof String) {
            String key = (String) entry.getKey();
            String value = (String) entry.getValue();
            int length = key.length() + value.length();
            // A string with a lone surrogate cannot be converted to Python, and would fail the subscription.
            if (length <= left[0] && StandardCharsets.UTF_8.newEncoder().canEncode(key + '\n' + value)) {
                left[0] -= length;
                entries.put(key, value);
            }
        }
    }

    /** Adds the string entries of the option to a Reactor Publisher's Context; returns other Publishers unchanged. */
    static Object with(Object publisher, Object option) {
        Map<String, String> entries = new LinkedHashMap<>();
        if (option instanceof Map) {
            ((Map<?, ?>) option).forEach((key, value) -> {
                if (key instanceof String && value instanceof String) {
                    entries.put((String) key, (String) value);
                }
            });
        }
        if (entries.isEmpty()) {
            return publisher;
        }
        try {
            ClassLoader loader = publisher.getClass().getClassLoader();
            if (!Class.forName("reactor.core.CorePublisher", false, loader).isInstance(publisher)) {
                return publisher;
            }
            Class<?> context = Class.forName("reactor.util.context.Context", false, loader);
            Class<?> view = Class.forName("reactor.util.context.ContextView", false, loader);
            Class<?> flux = Class.forName("reactor.core.publisher.Flux", false, loader);
            Object newContext = context.getMethod("of", Map.class).invoke(null, entries);
            Object source = flux.getMethod("from", Publisher.class).invoke(null, publisher);
            return flux.getMethod("contextWrite", view).invoke(source, newContext);
        } catch (ReflectiveOperationException | LinkageError | RuntimeException olderReactor) {
            return publisher;
        }
    }
}
