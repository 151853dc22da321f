package io.pyrs.mirror;

import io.pyrs.invoke.Invocation;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;

/**
 * Implements an interface with a single abstract method.
 *
 * <p>Subclasses implement that method. Default methods of the interface run unchanged, and {@code equals} compares
 * identity.
 */
abstract class FunctionalInterfaceHandler implements InvocationHandler {
    final Class<?> type;

    FunctionalInterfaceHandler(Class<?> type) {
        this.type = type;
        if (!type.isInterface() || Invocation.singleMethod(type) == null) {
            throw new IllegalArgumentException(type.getName() + " is not an interface with a single abstract method");
        }
    }

    /** Creates the object. The given loader is used if the bootstrap loader has loaded the interface. */
    public final Object proxy(ClassLoader loader) {
        ClassLoader own = type.getClassLoader();
        return Proxy.newProxyInstance(own == null ? loader : own, new Class<?>[] {type}, this);
    }

    /** Implements the single abstract method. */
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
            return defaultMethod(method).bindTo(proxy).invokeWithArguments(given);
        }
        return call(method, given);
    }

    private static MethodHandle defaultMethod(Method method) throws ReflectiveOperationException {
        Class<?> declaring = method.getDeclaringClass();
        MethodType signature = MethodType.methodType(method.getReturnType(), method.getParameterTypes());
        MethodHandles.Lookup caller = MethodHandles.lookup();
        if (!Modifier.isPublic(declaring.getModifiers())) { // this package does not see the interface
            caller = MethodHandles.privateLookupIn(declaring, caller);
        }
        return caller.findSpecial(declaring, method.getName(), signature, declaring);
    }
}
