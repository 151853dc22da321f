package io.pyrs.tck;

import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import org.reactivestreams.Publisher;
import org.reactivestreams.tck.TestEnvironment;

/** What the user's verification says: its hooks, called in Python. */
final class Hooks {
    final Scope scope;
    final TestEnvironment env;
    final long referenceMillis;
    final int bufferSize;
    private final Set<String> written;

    Hooks(Scope scope, TestEnvironment env, long referenceMillis, int bufferSize, Set<String> written) {
        this.scope = scope;
        this.env = env;
        this.referenceMillis = referenceMillis;
        this.bufferSize = bufferSize;
        this.written = written;
    }

    Object call(String hook, Object... arguments) {
        return scope.line().call(hook, 0, arguments);
    }

    long number(String hook) {
        var value = call(hook);
        return value == null ? 0 : (Long) value;
    }

    /** What a hook made: what stands for an object of Python's; or an object of Java's, by the number that it was given. */
    @SuppressWarnings("unchecked")
    <T> T made(BiFunction<Scope, Long, ? extends T> standIn, String hook, Object... arguments) {
        var value = call(hook, arguments);
        if (value == null) return null;
        return value instanceof Long ? (T) Given.take((Long) value) : standIn.apply(scope, ((FromPython) value).id());
    }

    /** The helper Publisher is the Java kit's own where the user has not written one. */
    Publisher<Object> helper(long elements, Supplier<Publisher<Object>> own) {
        return written.contains("create_helper_publisher")
                ? made(ReactiveObjects.PythonPublisher::new, "create_helper_publisher", elements)
                : own.get();
    }
}
