package io.pyrs;

import java.lang.reflect.Array;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;

/** Finds classes by name, and the supertypes of a class. */
public final class Classes {
    private static final List<Class<?>> PRIMITIVES = List.of(
            boolean.class,
            byte.class,
            short.class,
            char.class,
            int.class,
            long.class,
            float.class,
            double.class,
            void.class);

    private static final int MOST_NESTED = 32;

    private Classes() {}

    /**
     * Finds a class with the bridge's loader, then with the context class loader, which sees the jars of the caller's
     * Spark session (ADD JAR). The name may be "int", "java.lang.String[]", or the source name of a nested class.
     *
     * @throws ClassNotFoundException if there is no such class; the message explains how to add a jar
     */
    public static Class<?> find(String name, ClassLoader loader) throws ClassNotFoundException {
        if (name.endsWith("[]") && !name.equals("void[]")) {
            return Array.newInstance(find(name.substring(0, name.length() - 2), loader), 0)
                    .getClass();
        }
        for (Class<?> primitive : PRIMITIVES) {
            if (primitive.getName().equals(name)) {
                return primitive;
            }
        }
        for (ClassLoader each :
                new ClassLoader[] {loader, Thread.currentThread().getContextClassLoader()}) {
            try {
                return load(name, each);
            } catch (ClassNotFoundException unknown) {
                // The next loader may know the class.
            }
        }
        throw new ClassNotFoundException("class " + name + " is not on the class path of this JVM: add its jar with"
                + " pyrs.jvm.launch(packages=[\"group:artifact:version\"]) or launch(classpath=[...]), and in a Spark"
                + " driver with spark.jars.packages or spark.jars");
    }

    /** Loads a class, a nested one also by its source name: the loader knows the class a.B.C as a.B$C. */
    public static Class<?> load(String name, ClassLoader loader) throws ClassNotFoundException {
        String each = name;
        // Each attempt reads the whole name, so without a limit a name with thousands of dots would take a minute.
        for (int nested = 0; ; nested++) {
            try {
                return Class.forName(each, false, loader);
            } catch (ClassNotFoundException unknown) {
                int dot = each.lastIndexOf('.');
                if (dot < 0 || nested == MOST_NESTED) {
                    throw unknown;
                }
                each = each.substring(0, dot) + "$" + each.substring(dot + 1);
            }
        }
    }

    /**
     * Returns a class and its supertypes, each once: each class is followed by its interfaces, and then by its superclass.
     */
    public static List<Class<?>> supertypes(Class<?> type) {
        Set<Class<?>> found = new LinkedHashSet<>();
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            addWithInterfaces(each, found);
        }
        return List.copyOf(found);
    }

    /** Returns the first of a class and its {@link #supertypes} that has one of the names; null if there is none. */
    public static Class<?> nearest(Class<?> type, Set<String> names) {
        return supertypes(type).stream()
                .filter(each -> names.contains(each.getName()))
                .findFirst()
                .orElse(null);
    }

    /** Returns a cache of a function of classes, which keeps neither the classes nor their loaders reachable. */
    public static <T> ClassValue<T> cached(Function<Class<?>, T> function) {
        return new ClassValue<>() {
            @Override
            protected T computeValue(Class<?> type) {
                return function.apply(type);
            }
        };
    }

    private static void addWithInterfaces(Class<?> type, Set<Class<?>> found) {
        if (found.add(type)) {
            for (Class<?> each : type.getInterfaces()) {
                addWithInterfaces(each, found);
            }
        }
    }
}
