package io.pyrs.link;

import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Calls methods by name: through public interfaces and classes, so that inherited default methods and objects of non-public classes
 * are reached as well.
 */
public final class Invocation {
    private Invocation() {}

    /**
     * Calls the method that fits the arguments best.
     *
     * @throws NoSuchMethodException if none does
     */
    public static Object invoke(Object target, String name, Object... arguments) throws Throwable {
        Method best = null;
        int bestScore = Integer.MAX_VALUE;
        for (Class<?> type : publicTypes(target.getClass())) {
            for (Method method : type.getMethods()) {
                if (method.getName().equals(name) && Modifier.isPublic(method.getDeclaringClass().getModifiers())) {
                    int score = score(method, arguments);
                    if (score < bestScore && accessible(method)) {
                        best = method;
                        bestScore = score;
                    }
                }
            }
        }
        if (best == null) {
            throw new NoSuchMethodException(target.getClass().getName() + " has no public method " + name + " for "
                    + arguments.length + " arguments of these types");
        }
        return call(best, target, arguments);
    }

    /** Calls an object that is a function: the one abstract method of an interface that takes so many arguments. */
    static Object callFunction(Object target, Object[] arguments) throws Throwable {
        for (Class<?> type : publicTypes(target.getClass())) {
            Method function = type.isInterface() ? singleMethod(type) : null;
            if (function != null && score(function, arguments) < Integer.MAX_VALUE) {
                return call(function, target, arguments);
            }
        }
        throw new IllegalArgumentException("a " + target.getClass().getName() + " is no function of " + arguments.length + " arguments");
    }

    /** The one abstract method of an interface; null if it has none or several. */
    public static Method singleMethod(Class<?> type) {
        Method single = null;
        for (Method method : type.getMethods()) {
            if (Modifier.isAbstract(method.getModifiers()) && !isOfObject(method)) {
                if (single != null && !(single.getName().equals(method.getName())
                        && single.getParameterCount() == method.getParameterCount())) {
                    return null;
                }
                // An interface may narrow an inherited method: the most specific parameters are the ones to adapt to.
                if (single == null || narrows(method, single)) {
                    single = method;
                }
            }
        }
        return single;
    }

    private static boolean narrows(Method method, Method other) {
        return other.getDeclaringClass().isAssignableFrom(method.getDeclaringClass());
    }

    private static boolean isOfObject(Method method) {
        try {
            Object.class.getMethod(method.getName(), method.getParameterTypes());
            return true;
        } catch (NoSuchMethodException own) {
            return false;
        }
    }

    private static Object call(Method method, Object target, Object[] arguments) throws Throwable {
        Class<?>[] types = method.getParameterTypes();
        Object[] fitted = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            if (method.isVarArgs() && i == types.length - 1 && !isDirect(method, arguments)) {
                Class<?> element = types[i].getComponentType();
                Object rest = Array.newInstance(element, arguments.length - i);
                for (int j = i; j < arguments.length; j++) {
                    Array.set(rest, j - i, fit(arguments[j], element));
                }
                fitted[i] = rest;
            } else {
                fitted[i] = fit(arguments[i], types[i]);
            }
        }
        try {
            return method.invoke(target, fitted);
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
    }

    private static boolean isDirect(Method method, Object[] arguments) {
        Class<?>[] types = method.getParameterTypes();
        int last = types.length - 1;
        return arguments.length == types.length && distance(arguments[last], types[last]) < Integer.MAX_VALUE;
    }

    private static int score(Method method, Object[] arguments) {
        Class<?>[] types = method.getParameterTypes();
        boolean spread = method.isVarArgs() && !isDirect(method, arguments);
        if (spread ? arguments.length < types.length - 1 : arguments.length != types.length) {
            return Integer.MAX_VALUE;
        }
        int sum = spread ? 1_000 : 0;
        for (int i = 0; i < arguments.length; i++) {
            Class<?> type = spread && i >= types.length - 1 ? types[types.length - 1].getComponentType() : types[i];
            int distance = distance(arguments[i], type);
            if (distance == Integer.MAX_VALUE) {
                return distance;
            }
            sum += distance;
        }
        return sum;
    }

    /** How far an argument is from a parameter: 0 its own type; the largest number if it does not fit. */
    private static int distance(Object argument, Class<?> type) {
        if (argument == null) {
            return type.isPrimitive() ? Integer.MAX_VALUE : 1;
        }
        Class<?> given = argument.getClass();
        Class<?> wanted = boxOf(type);
        if (given == wanted) {
            return 0;
        }
        if (argument instanceof Number && Number.class.isAssignableFrom(wanted) && fit(argument, type) != argument) {
            return wanted == Long.class || wanted == Double.class ? 2 : 3;
        }
        if (argument instanceof String && wanted == Character.class) {
            return ((String) argument).length() == 1 ? 3 : Integer.MAX_VALUE;
        }
        if (!wanted.isInstance(argument)) {
            return Integer.MAX_VALUE;
        }
        return wanted == Object.class ? 50 : wanted.isInterface() ? 6 : 5;
    }

    /** Whole numbers become the box that the parameter wants, where nothing is lost. */
    private static Object fit(Object argument, Class<?> type) {
        Class<?> wanted = boxOf(type);
        if (argument instanceof String && wanted == Character.class) {
            return ((String) argument).charAt(0);
        }
        if (!(argument instanceof Number) || argument.getClass() == wanted) {
            return argument;
        }
        Number number = (Number) argument;
        boolean whole = number instanceof Long || number instanceof Integer || number instanceof Short || number instanceof Byte;
        long value = number.longValue();
        if (wanted == Double.class) {
            return number.doubleValue();
        } else if (wanted == Float.class) {
            return number.floatValue();
        } else if (whole && wanted == Long.class) {
            return value;
        } else if (whole && wanted == Integer.class && (int) value == value) {
            return (int) value;
        } else if (whole && wanted == Short.class && (short) value == value) {
            return (short) value;
        } else if (whole && wanted == Byte.class && (byte) value == value) {
            return (byte) value;
        }
        return argument;
    }

    private static Class<?> boxOf(Class<?> type) {
        return type.isPrimitive() ? java.lang.invoke.MethodType.methodType(type).wrap().returnType() : type;
    }

    /** The public classes and interfaces of an object's class, nearest first. */
    private static List<Class<?>> publicTypes(Class<?> type) {
        Set<Class<?>> types = new LinkedHashSet<>();
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            if (isPublic(each)) {
                types.add(each);
            }
        }
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            addInterfaces(each, types);
        }
        return new ArrayList<>(types);
    }

    private static void addInterfaces(Class<?> type, Set<Class<?>> types) {
        for (Class<?> each : type.getInterfaces()) {
            if (isPublic(each)) {
                types.add(each);
            }
            addInterfaces(each, types);
        }
    }

    private static boolean isPublic(Class<?> type) {
        return Modifier.isPublic(type.getModifiers())
                && type.getModule().isExported(type.getPackageName());
    }

    private static boolean accessible(Method method) {
        return isPublic(method.getDeclaringClass());
    }
}
