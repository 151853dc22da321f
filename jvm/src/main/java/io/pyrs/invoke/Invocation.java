package io.pyrs.invoke;

import io.pyrs.Classes;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Calls methods by name, through public interfaces and superclasses, so that default methods and objects of non-public
 * classes are callable.
 */
public final class Invocation {
    private Invocation() {}

    /**
     * Calls the method of an object whose parameters fit the arguments best.
     *
     * @throws NoSuchMethodException if none fits
     */
    public static Object invoke(Object target, String name, Object... arguments) throws Throwable {
        List<Method> candidates = new ArrayList<>();
        for (Class<?> type : publicTypes(target.getClass())) {
            addMethods(type, name, false, candidates);
        }
        Class<?> type = target.getClass();
        if (candidates.isEmpty()) { // no public type has the method, but the non-public class itself may declare it
            addMethods(type, name, false, candidates);
        }
        String what = "method " + name + (candidates.isEmpty() ? similar(type, name) : "");
        return call(candidates, target, type, what, arguments);
    }

    /**
     * Calls the static method of a class whose parameters fit the arguments best.
     *
     * @throws NoSuchMethodException if none fits
     */
    public static Object invokeStatic(Class<?> type, String name, Object... arguments) throws Throwable {
        List<Method> candidates = new ArrayList<>();
        addMethods(type, name, true, candidates);
        return call(candidates, null, type, "static method " + name, arguments);
    }

    /**
     * Creates an object with the constructor that fits the arguments best.
     *
     * @throws NoSuchMethodException if none fits
     */
    public static Object construct(Class<?> type, Object... arguments) throws Throwable {
        if (type.isInterface() || Modifier.isAbstract(type.getModifiers())) {
            String what = type.isInterface()
                    ? "an interface"
                    : type.isArray() ? "an array" : type.isPrimitive() ? "a primitive" : "an abstract class";
            throw new NoSuchMethodException(type.getTypeName() + " is " + what + " and has no constructor to call");
        }
        List<Constructor<?>> candidates = new ArrayList<>();
        for (Constructor<?> each : type.getConstructors()) {
            if (mayUse(each)) {
                candidates.add(each);
            }
        }
        Constructor<?> best = chosen(candidates, type, "constructor", arguments);
        try {
            return best.newInstance(Arguments.convert(best, arguments));
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
    }

    public static Object field(Class<?> type, String name) throws ReflectiveOperationException {
        Field field = type.getField(name);
        if (!Modifier.isStatic(field.getModifiers())) {
            throw new NoSuchFieldException(
                    type.getName() + " has no static field " + name + ", only an instance field");
        }
        mayUse(field);
        return field.get(null);
    }

    /** Returns the names of the static ones of the public methods or fields of a class. */
    public static Set<String> staticNames(Member[] members) {
        Set<String> names = new TreeSet<>();
        for (Member each : members) {
            if (Modifier.isStatic(each.getModifiers())) {
                names.add(each.getName());
            }
        }
        return names;
    }

    /** Calls an object through its first interface with a single abstract method that fits the arguments. */
    public static Object callFunction(Object target, Object[] arguments) throws Throwable {
        for (Class<?> type : publicTypes(target.getClass())) {
            Method function = type.isInterface() ? singleMethod(type) : null;
            if (function != null && Arguments.fits(function, arguments)) {
                return call(function, target, arguments);
            }
        }
        throw new IllegalArgumentException(
                "a " + target.getClass().getName() + " is not a function of " + arguments.length + " arguments");
    }

    /** Returns the single abstract method of an interface; null if it has none or several. */
    public static Method singleMethod(Class<?> type) {
        Method single = null;
        for (Method method : type.getMethods()) {
            if (Modifier.isAbstract(method.getModifiers()) && !isOfObject(method)) {
                if (single != null
                        && !(single.getName().equals(method.getName())
                                && single.getParameterCount() == method.getParameterCount())) {
                    return null;
                }
                // An interface may narrow the parameters of an inherited method: the narrower declaration is used.
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

    private static Object call(List<Method> candidates, Object target, Class<?> type, String what, Object[] arguments)
            throws Throwable {
        return call(chosen(candidates, type, what, arguments), target, arguments);
    }

    private static Object call(Method method, Object target, Object[] arguments) throws Throwable {
        try {
            return method.invoke(target, Arguments.convert(method, arguments));
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
    }

    private static <E extends Executable> E chosen(List<E> candidates, Class<?> type, String what, Object[] arguments)
            throws NoSuchMethodException {
        if (candidates.isEmpty()) {
            throw new NoSuchMethodException(type.getName() + " has no public " + what);
        }
        E best = Arguments.best(candidates, arguments);
        if (best == null) {
            throw new NoSuchMethodException(
                    type.getName() + " has no public " + what + " for " + Arguments.describe(arguments)
                            + "; available: " + Arguments.describe(candidates) + Arguments.hint(arguments));
        }
        return best;
    }

    /** Suggests a method if the name is that of a property, or is written in the style of Python. */
    private static String similar(Class<?> type, String name) {
        String plain = name.replace("_", "");
        for (Method method : type.getMethods()) {
            String known = method.getName();
            if (known.equalsIgnoreCase(plain)
                    || known.equalsIgnoreCase("get" + plain)
                    || known.equalsIgnoreCase("is" + plain)) {
                return ": use " + known + "()";
            }
        }
        return "";
    }

    private static void addMethods(Class<?> type, String name, boolean onlyStatic, List<Method> candidates) {
        for (Method method : type.getMethods()) {
            boolean wanted = method.getName().equals(name) && (!onlyStatic || Modifier.isStatic(method.getModifiers()));
            if (wanted && mayUse(method)) {
                candidates.add(method);
            }
        }
    }

    /** Makes a public member accessible. Returns false for a non-public class in a package that is not open. */
    private static <M extends AccessibleObject & Member> boolean mayUse(M member) {
        return Arguments.isPublic(member.getDeclaringClass()) || member.trySetAccessible();
    }

    /** Returns the public ones of a class and its superclasses, nearest first, and then of their interfaces. */
    private static List<Class<?>> publicTypes(Class<?> type) {
        return Classes.supertypes(type).stream()
                .filter(Arguments::isPublic)
                .sorted(Comparator.comparing(Class::isInterface)) // a stable sort, classes first
                .collect(Collectors.toList());
    }
}
