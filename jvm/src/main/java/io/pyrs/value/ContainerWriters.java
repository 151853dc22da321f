package io.pyrs.value;

import io.pyrs.Classes;
import java.io.IOException;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.BaseStream;

/** The writers of values that contain other values: collections, maps, arrays, optionals, records and beans. */
final class ContainerWriters {
    /** Their getters do not contain the value: isEmpty of a StringBuilder, isParallel of a Stream. */
    private static final Set<Class<?>> NOT_OF_PROPERTIES = Set.of(Object.class, CharSequence.class, BaseStream.class);

    private ContainerWriters() {}

    /** Returns the writer of a container class, or null for any other class. */
    static ValueWriter writerOf(Class<?> type) {
        if (Set.class.isAssignableFrom(type)) {
            return ContainerWriters::writeSet;
        } else if (Collection.class.isAssignableFrom(type)) {
            return (encoder, value, out, depth) ->
                    writeArray(value, ((Collection<?>) value).toArray(), encoder, out, depth);
        } else if (Map.class.isAssignableFrom(type)) {
            return ContainerWriters::writeMap;
        } else if (type.isArray()) {
            return arrayOf(type);
        } else if (type == Optional.class) {
            return optional(value -> ((Optional<?>) value).orElse(null));
        } else if (type == OptionalInt.class) {
            return optional(value -> ((OptionalInt) value).isPresent() ? ((OptionalInt) value).getAsInt() : null);
        } else if (type == OptionalLong.class) {
            return optional(value -> ((OptionalLong) value).isPresent() ? ((OptionalLong) value).getAsLong() : null);
        } else if (type == OptionalDouble.class) {
            return optional(
                    value -> ((OptionalDouble) value).isPresent() ? ((OptionalDouble) value).getAsDouble() : null);
        } else if (isArrowRoot(type)) {
            return ArrowRootWriter.writerOf(type);
        }
        return record(type);
    }

    static boolean isArrowRoot(Class<?> type) {
        return "org.apache.arrow.vector.VectorSchemaRoot".equals(type.getName());
    }

    private static ValueWriter arrayOf(Class<?> type) {
        if (type == long[].class) {
            return (encoder, value, out, depth) -> {
                encoder.deeper(value, depth);
                long[] array = (long[]) value;
                out.packer.packArrayHeader(array.length);
                for (long each : array) {
                    out.packer.packLong(each);
                }
            };
        } else if (type == double[].class) {
            return (encoder, value, out, depth) -> {
                encoder.deeper(value, depth);
                double[] array = (double[]) value;
                out.packer.packArrayHeader(array.length);
                for (double each : array) {
                    out.packer.packDouble(each);
                }
            };
        } else if (type.getComponentType().isPrimitive()) {
            return (encoder, value, out, depth) -> {
                int within = encoder.deeper(value, depth);
                int length = Array.getLength(value);
                out.packer.packArrayHeader(length);
                for (int i = 0; i < length; i++) {
                    encoder.write(Array.get(value, i), out, within);
                }
            };
        }
        return (encoder, value, out, depth) -> writeArray(value, (Object[]) value, encoder, out, depth);
    }

    private static void writeArray(Object container, Object[] content, ValueEncoder encoder, ValueBuffer out, int depth)
            throws IOException {
        int within = encoder.deeper(container, depth);
        out.packer.packArrayHeader(content.length);
        for (Object each : content) {
            encoder.writeContent(each, out, within);
        }
    }

    private static void writeSet(ValueEncoder encoder, Object value, ValueBuffer out, int depth) throws IOException {
        // The length of an extension precedes its content, so the content is first written to a separate buffer.
        ValueBuffer content = new ValueBuffer(256);
        writeArray(value, ((Set<?>) value).toArray(), encoder, content, depth);
        out.packer.packExtensionTypeHeader(ExtensionTypes.SET, content.size());
        out.append(content);
    }

    private static void writeMap(ValueEncoder encoder, Object value, ValueBuffer out, int depth) throws IOException {
        int within = encoder.deeper(value, depth);
        // Copy the entries, because the size of a concurrent map may differ from the number of iterated entries.
        Object[] entries = ((Map<?, ?>) value).entrySet().toArray();
        out.packer.packMapHeader(entries.length);
        for (Object each : entries) {
            Map.Entry<?, ?> entry = (Map.Entry<?, ?>) each;
            Object key = entry.getKey();
            if (key != null && key.getClass() != String.class && isContainer(key.getClass())) {
                encoder.fail(new ConversionException("a " + key.getClass().getName() + " cannot be the key of a dict"));
            }
            encoder.writeContent(key, out, within);
            encoder.writeContent(entry.getValue(), out, within);
        }
    }

    private static boolean isContainer(Class<?> type) {
        return Collection.class.isAssignableFrom(type)
                || Map.class.isAssignableFrom(type)
                || type.isArray() && type != byte[].class;
    }

    private static ValueWriter optional(Function<Object, Object> contentOf) {
        return (encoder, value, out, depth) -> {
            Object content = contentOf.apply(value);
            if (content == null && depth == 0) {
                throw new ConversionException("an empty " + value.getClass().getName()
                        + " cannot be an element: null is not an element (rule 2.13)");
            }
            encoder.write(content, out, depth);
        };
    }

    /** Returns a writer of a record's components by name. It uses reflection, since the jar supports Java 11. */
    private static ValueWriter record(Class<?> type) {
        Class<?> parent = type.getSuperclass();
        if (parent == null || !"java.lang.Record".equals(parent.getName())) {
            return null;
        }
        try {
            Object[] components =
                    (Object[]) Class.class.getMethod("getRecordComponents").invoke(type);
            String[] names = new String[components.length];
            Method[] accessors = new Method[components.length];
            for (int i = 0; i < components.length; i++) {
                Class<? extends AnnotatedElement> kind =
                        components[i].getClass().asSubclass(AnnotatedElement.class);
                names[i] = (String) kind.getMethod("getName").invoke(components[i]);
                accessors[i] = (Method) kind.getMethod("getAccessor").invoke(components[i]);
                if (!accessors[i].trySetAccessible()) {
                    return null;
                }
            }
            return properties(names, accessors);
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }

    /** Returns a writer of an object's public getters by property name, or null if the class has no getters. */
    static ValueWriter bean(Class<?> type) {
        Map<String, Method> getters = new TreeMap<>();
        // A supertype may declare the getters of an inaccessible class, as Map.Entry declares those of HashMap's
        // entries.
        for (Class<?> each : Classes.supertypes(type)) {
            for (Method method : each.getMethods()) {
                String name = property(method);
                if (name != null && !getters.containsKey(name) && method.trySetAccessible()) {
                    getters.put(name, method);
                }
            }
        }
        return getters.isEmpty()
                ? null
                : properties(
                        getters.keySet().toArray(new String[0]),
                        getters.values().toArray(new Method[0]));
    }

    private static String property(Method method) {
        if (method.getParameterCount() != 0
                || Modifier.isStatic(method.getModifiers())
                || method.getReturnType() == void.class
                || NOT_OF_PROPERTIES.contains(method.getDeclaringClass())) {
            return null;
        }
        String name = method.getName();
        int prefix = name.startsWith("get") ? 3 : name.startsWith("is") && isBoolean(method.getReturnType()) ? 2 : 0;
        if (prefix == 0 || name.length() == prefix || Character.isLowerCase(name.charAt(prefix))) {
            return null;
        }
        String rest = name.substring(prefix);
        if (rest.startsWith("And") && rest.length() > 3 && Character.isUpperCase(rest.charAt(3))) {
            return null; // such as getAndIncrement of an AtomicLong, which would change the object
        }
        // The same names as java.beans.Introspector: getURL is "URL", getName is "name".
        boolean acronym =
                rest.length() > 1 && Character.isUpperCase(rest.charAt(0)) && Character.isUpperCase(rest.charAt(1));
        return acronym ? rest : Character.toLowerCase(rest.charAt(0)) + rest.substring(1);
    }

    private static boolean isBoolean(Class<?> type) {
        return type == boolean.class || type == Boolean.class;
    }

    private static ValueWriter properties(String[] names, Method[] accessors) {
        return (encoder, value, out, depth) -> {
            int within = encoder.deeper(value, depth);
            out.packer.packMapHeader(names.length);
            for (int i = 0; i < names.length; i++) {
                ScalarWriters.writeString(names[i], out.packer);
                try {
                    encoder.write(read(accessors[i], value), out, within);
                } catch (RuntimeException error) {
                    encoder.fail(error);
                }
            }
        };
    }

    private static Object read(Method accessor, Object value) {
        try {
            return accessor.invoke(value);
        } catch (InvocationTargetException e) {
            throw new ConversionException(
                    "a " + value.getClass().getName() + " cannot be converted: " + accessor.getName() + "() threw "
                            + e.getCause().getClass().getName(),
                    e.getCause());
        } catch (IllegalAccessException e) {
            throw new ConversionException("a " + value.getClass().getName() + " cannot be converted: " + e, e);
        }
    }
}
