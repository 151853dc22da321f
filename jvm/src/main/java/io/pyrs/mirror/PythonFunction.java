package io.pyrs.mirror;

import io.pyrs.link.Invocation;
import io.pyrs.link.Reference;
import io.pyrs.link.Session;
import io.pyrs.link.StandIn;
import io.pyrs.value.Conversion;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;

/**
 * A Python function behind an interface of the user's: its one abstract method is a call over the link, its default methods are the interface's own, and
 * equals, hashCode and toString are answered here (equality is identity).
 */
abstract class PythonFunction implements InvocationHandler, StandIn {
    final Session session;
    private final Reference reference;
    private final Class<?> type;
    private final Method single;

    PythonFunction(Session session, Reference reference, Class<?> type) {
        this.session = session;
        this.reference = reference;
        this.type = type;
        this.single = type.isInterface() ? Invocation.singleMethod(type) : null;
        if (single == null) {
            throw new IllegalArgumentException(type.getName() + " is no interface with a single abstract method");
        }
    }

    /** The object to give to Java. */
    final Object proxy(ClassLoader loader) {
        ClassLoader own = type.getClassLoader();
        return Proxy.newProxyInstance(own == null ? loader : own, new Class<?>[] {type}, this);
    }

    /** Calls the Python function. */
    abstract Object call(Method method, Object[] arguments) throws Throwable;

    @Override
    public final Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        Object[] given = arguments == null ? new Object[0] : arguments;
        if (method.getDeclaringClass() == Object.class) {
            switch (method.getName()) {
                case "equals":
                    return proxy == given[0];
                case "hashCode":
                    return System.identityHashCode(proxy);
                default:
                    return toString();
            }
        }
        if (method.isDefault()) {
            MethodType signature = MethodType.methodType(method.getReturnType(), method.getParameterTypes());
            Class<?> declaring = method.getDeclaringClass();
            return MethodHandles.lookup()
                    .findSpecial(declaring, method.getName(), signature, declaring)
                    .bindTo(proxy)
                    .invokeWithArguments(given);
        }
        try {
            return call(method, given);
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
