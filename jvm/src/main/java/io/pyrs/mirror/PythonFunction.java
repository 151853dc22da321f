package io.pyrs.mirror;

import io.pyrs.PeerProxy;
import io.pyrs.PeerReference;
import io.pyrs.link.session.Session;
import io.pyrs.value.Conversion;
import java.lang.reflect.Method;
import java.util.Arrays;

/** A Python function as the single abstract method of an interface. */
abstract class PythonFunction extends FunctionalInterfaceHandler implements PeerProxy {
    final Session session;
    private final PeerReference reference;

    PythonFunction(Session session, PeerReference reference, Class<?> type) {
        super(type);
        this.session = session;
        this.reference = reference;
    }

    /** Calls the Python function. */
    abstract Object callPython(Method method, Object[] arguments) throws Throwable;

    @Override
    final Object call(Method method, Object[] arguments) throws Throwable {
        try {
            return callPython(method, arguments);
        } catch (Throwable error) {
            throw declared(method, error);
        }
    }

    /** Wraps an undeclared checked exception, whose message an UndeclaredThrowableException would hide. */
    private static Throwable declared(Method method, Throwable error) {
        boolean unchecked = error instanceof RuntimeException || error instanceof Error;
        if (unchecked || Arrays.stream(method.getExceptionTypes()).anyMatch(type -> type.isInstance(error))) {
            return error;
        }
        if (error instanceof InterruptedException) {
            Thread.currentThread().interrupt(); // the caller cannot catch the InterruptedException
        }
        return new IllegalStateException(error.getMessage() == null ? error.toString() : error.getMessage(), error);
    }

    final Object sendCall(Object[] arguments, Conversion conversion) throws Throwable {
        return session.call(reference, Arrays.asList(arguments), conversion);
    }

    @Override
    public final PeerReference reference() {
        return reference;
    }

    @Override
    public final String toString() {
        return getClass().getSimpleName() + "[" + type.getName() + ", " + reference + "]";
    }
}
