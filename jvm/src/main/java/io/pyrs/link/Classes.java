package io.pyrs.link;

import java.lang.reflect.Array;
import java.util.List;

/** Classes by the names that users give them. */
public final class Classes {
    private static final List<Class<?>> PRIMITIVES = List.of(
            boolean.class, byte.class, short.class, char.class, int.class, long.class, float.class, double.class, void.class);

    private Classes() {}

    /**
     * Finds a class: by the bridge's loader, then by the thread's context loader, which may be of the caller's own session (Spark's ADD
     * JAR). Also "int", "java.lang.String[]", and a nested class under its source name.
     *
     * @throws ClassNotFoundException if there is none; it says how to bring a jar in
     */
    public static Class<?> find(String name, ClassLoader loader) throws ClassNotFoundException {
        if (name.endsWith("[]") && !name.equals("void[]")) {
            return Array.newInstance(find(name.substring(0, name.length() - 2), loader), 0).getClass();
        }
        for (Class<?> primitive : PRIMITIVES) {
            if (primitive.getName().equals(name)) {
                return primitive;
            }
        }
        ClassLoader context = Thread.currentThread().getContextClassLoader();
        Class<?> found = visible(name, loader);
        found = found == null ? visible(name, context) : found;
        if (found == null) {
            throw new ClassNotFoundException("this JVM sees no class " + name + ": bring its jar in, with"
                    + " pyrs.jvm.launch(packages=[\"group:artifact:version\"]) or launch(classpath=[...]), and in a Spark driver with"
                    + " spark.jars.packages or spark.jars");
        }
        return found;
    }

    private static Class<?> visible(String name, ClassLoader loader) {
        String each = name;
        while (true) {
            try {
                return Class.forName(each, false, loader);
            } catch (ClassNotFoundException unknown) {
                // A nested class by its source name: a.B.C is a.B$C to the loader.
                int dot = each.lastIndexOf('.');
                if (dot < 0) {
                    return null;
                }
                each = each.substring(0, dot) + "$" + each.substring(dot + 1);
            }
        }
    }
}
