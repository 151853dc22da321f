package io.pyrs.value;

import io.pyrs.value.ForeignWriters.Converter;
import io.pyrs.value.ForeignWriters.ConverterFactory;
import java.lang.invoke.MethodHandle;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;

/** Converters of database rows, and of objects that describe their own fields, to dicts. */
final class ForeignRows {
    private ForeignRows() {}

    static void addTo(Map<String, ConverterFactory> factories) {
        factories.put("io.r2dbc.spi.Row", type -> readable(type, "getMetadata", "getColumnMetadatas"));
        factories.put("io.r2dbc.spi.OutParameters", type -> readable(type, "getMetadata", "getParameterMetadatas"));
        factories.put("io.r2dbc.postgresql.codec.Json", GetterConverters.single("asString"));
        factories.put("com.datastax.oss.driver.api.core.cql.Row", ForeignRows::cassandra);
        factories.put("com.datastax.oss.driver.api.core.data.CqlDuration", GetterConverters.single("toString"));
        factories.put("software.amazon.awssdk.core.SdkPojo", ForeignRows::awsObject);
    }

    private static Converter readable(Class<?> type, String metadata, String list) throws ReflectiveOperationException {
        Class<?> ofMetadata = type.getMethod(metadata).getReturnType();
        Converter columns = GetterConverters.path(ofMetadata, list);
        MethodHandle name = GetterConverters.method(
                Class.forName("io.r2dbc.spi.ReadableMetadata", false, type.getClassLoader()), "getName");
        return rows(
                GetterConverters.method(type, metadata),
                GetterConverters.method(type, "get", int.class),
                given -> names((Iterable<?>) columns.plain(given), each -> (Object) name.invokeExact(each)));
    }

    private static Converter cassandra(Class<?> type) throws ReflectiveOperationException {
        Class<?> column =
                Class.forName("com.datastax.oss.driver.api.core.cql.ColumnDefinition", false, type.getClassLoader());
        Converter name = GetterConverters.path(column, "getName.asInternal");
        return rows(
                GetterConverters.method(type, "getColumnDefinitions"),
                GetterConverters.method(type, "getObject", int.class),
                given -> names((Iterable<?>) given, name));
    }

    private static String[] names(Iterable<?> columns, Converter name) throws Throwable {
        List<String> names = new ArrayList<>();
        for (Object each : columns) {
            names.add((String) name.plain(each));
        }
        if (new HashSet<>(names).size() < names.size()) {
            throw new ConversionException(
                    "a row with two columns of the same name cannot be converted to a dict: give them different names"
                            + " (SELECT a.id AS a_id, b.id AS b_id). Its columns are " + names);
        }
        return names.toArray(new String[0]);
    }

    /** Converts a row to a dict of column to value. The names are cached by metadata, which many rows share. */
    private static Converter rows(MethodHandle metadata, MethodHandle get, Converter names) {
        AtomicReference<Map.Entry<WeakReference<Object>, String[]>> cached =
                new AtomicReference<>(Map.entry(new WeakReference<>(null), new String[0]));
        return row -> {
            Object described = (Object) metadata.invokeExact(row);
            Map.Entry<WeakReference<Object>, String[]> columns = cached.get();
            if (columns.getKey().get() != described) {
                columns = Map.entry(new WeakReference<>(described), (String[]) names.plain(described));
                cached.set(columns);
            }
            String[] keys = columns.getValue();
            Map<String, Object> dict = new LinkedHashMap<>(2 * keys.length);
            for (int i = 0; i < keys.length; i++) {
                dict.put(keys[i], (Object) get.invokeExact(row, i));
            }
            return dict;
        };
    }

    /** Converts an object of the AWS SDK to a dict of its declared fields, without the unset ones. */
    private static Converter awsObject(Class<?> type) throws ReflectiveOperationException {
        Class<?> field = Class.forName("software.amazon.awssdk.core.SdkField", false, type.getClassLoader());
        MethodHandle fields = GetterConverters.method(type, "sdkFields");
        MethodHandle name = GetterConverters.method(field, "memberName");
        MethodHandle get = GetterConverters.method(field, "getValueOrDefault", Object.class);
        return value -> {
            Map<String, Object> dict = new LinkedHashMap<>();
            for (Object each : (Iterable<?>) (Object) fields.invokeExact(value)) {
                Object content = (Object) get.invokeExact(each, value);
                if (content != null) {
                    dict.put((String) (Object) name.invokeExact(each), content);
                }
            }
            return dict;
        };
    }
}
