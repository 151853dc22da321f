package io.pyrs.value;

import io.pyrs.value.ForeignWriters.Converter;
import io.pyrs.value.ForeignWriters.ConverterFactory;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.LinkedHashMap;
import java.util.Map;

/** Creates converters from getters. */
final class GetterConverters {
    private GetterConverters() {}

    /** Returns a MethodHandle of a public method. Its result and its parameters have type Object, except primitives. */
    static MethodHandle method(Class<?> owner, String name, Class<?>... parameters)
            throws ReflectiveOperationException {
        Method method = owner.getMethod(name, parameters);
        method.trySetAccessible(); // the class may not be public
        MethodHandle handle = MethodHandles.lookup().unreflect(method);
        MethodType type = handle.type().changeReturnType(Object.class);
        for (int i = 0; i < type.parameterCount(); i++) {
            type = type.parameterType(i).isPrimitive() ? type : type.changeParameterType(i, Object.class);
        }
        return handle.asType(type);
    }

    /**
     * Returns a converter that calls a chain of getters, such as {@code "getEnvelope.getExchange"}. Null stays null.
     */
    static Converter path(Class<?> type, String path) throws ReflectiveOperationException {
        String[] names = path.split("\\.");
        MethodHandle[] steps = new MethodHandle[names.length];
        Class<?> owner = type;
        for (int i = 0; i < names.length; i++) {
            steps[i] = method(owner, names[i]);
            owner = owner.getMethod(names[i]).getReturnType();
        }
        // The result is a part of the value, so it is converted even if convert= sends its class by reference.
        Converter part = ForeignWriters.converterOf(owner);
        return value -> {
            Object result = value;
            for (int i = 0; i < steps.length && result != null; i++) {
                result = (Object) steps[i].invokeExact(result);
            }
            return part == null || result == null ? result : part.plain(result);
        };
    }

    /** Converts a value to the result of one chain of getters. */
    static ConverterFactory single(String path) {
        return type -> path(type, path);
    }

    /** Converts a value to a dict of {@code "key=path"} entries; {@code "name"} means {@code "name=name"}. */
    static ConverterFactory dict(String... entries) {
        return dict(true, entries);
    }

    /** Converts like {@link #dict}, without the entries that are null. */
    static ConverterFactory dictWithoutNulls(String... entries) {
        return dict(false, entries);
    }

    private static ConverterFactory dict(boolean withNulls, String... entries) {
        return type -> {
            String[] keys = new String[entries.length];
            Converter[] values = new Converter[entries.length];
            for (int i = 0; i < entries.length; i++) {
                int equals = entries[i].indexOf('=');
                keys[i] = equals < 0 ? entries[i] : entries[i].substring(0, equals);
                values[i] = path(type, entries[i].substring(equals + 1));
            }
            return value -> {
                Map<String, Object> dict = new LinkedHashMap<>(2 * keys.length);
                for (int i = 0; i < keys.length; i++) {
                    Object each = values[i].plain(value);
                    if (withNulls || each != null) {
                        dict.put(keys[i], each);
                    }
                }
                return dict;
            };
        };
    }
}
