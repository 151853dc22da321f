package io.pyrs.mirror;

import io.pyrs.link.Reference;
import io.pyrs.link.Session;
import io.pyrs.link.StandIn;
import io.pyrs.value.Conversion;
import java.lang.reflect.Method;
import java.util.Arrays;

/** A Python function behind an interface of the user's: its one abstract method is a call over the link. */
abstract class PythonFunction extends SingleMethod implements StandIn {
    final Session session;
    private final Reference reference;

    PythonFunction(Session session, Reference reference, Class<?> type) {
        super(type);
        this.session = session;
        this.reference = reference;
    }

    /** Calls the Python function. */
    abstract Object ask(Method method, Object[] arguments) throws Throwable;

    @Override
    final Object call(Method method, Object[] arguments) throws Throwable {
        try {
            return ask(method, arguments);
        } catch (Throwable error) {
            throw declared(method, error);
        }
    }

    /** A checked exception that the method does not declare would lose its message in an UndeclaredThrowableException. */
    private static Throwable declared(Method method, Throwable error) {
        boolean free = error instanceof RuntimeException || error instanceof Error;
        if (free || Arrays.stream(method.getExceptionTypes()).anyMatch(type -> type.isInstance(error))) {
            return error;
        }
        return new IllegalStateException(error.getMessage() == null ? error.toString() : error.getMessage(), error);
    }

    final Object callPython(Object[] arguments, Conversion conversion) throws Throwable {
        return session.call(reference, Arrays.asList(arguments), conversion);
    }

    @Override
    public final Reference reference() {
        return reference;
    }

    @Override
    public final String toString() {
        return getClass().getSimpleName() + "[" + type.getName() + ", " + reference + "]";
    }
}
