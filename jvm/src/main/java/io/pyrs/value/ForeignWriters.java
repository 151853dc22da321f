package io.pyrs.value;

import io.pyrs.Classes;
import java.lang.invoke.MethodHandle;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * The writers of third-party classes: buffers, rows, documents and messages of reactive libraries.
 *
 * <p>A class is recognized by its name, or by the name of a superclass or interface, so that the jar does not depend on
 * these libraries. Its objects travel as values if {@code convert=} selects values for the class, otherwise as
 * references.
 */
final class ForeignWriters {
    /** Converts an object of a third-party class to a value of the table. */
    interface Converter {
        Object plain(Object value) throws Throwable;
    }

    interface ConverterFactory {
        Converter create(Class<?> type) throws ReflectiveOperationException;
    }

    private static final Map<String, ConverterFactory> FACTORIES = new HashMap<>();

    /**
     * Classes whose documentation requires the receiver of an object to call {@code release}. ByteBuf is not among
     * them, since Reactor Netty releases the buffers that it emits.
     */
    private static final Set<String> RELEASED = Set.of(
            "org.springframework.core.io.buffer.PooledDataBuffer",
            "io.helidon.common.http.DataChunk",
            "io.rsocket.Payload");

    static {
        ForeignBytes.addTo(FACTORIES);
        ForeignRows.addTo(FACTORIES);
        ForeignDocuments.addTo(FACTORIES);
        ForeignMessages.addTo(FACTORIES);
    }

    private ForeignWriters() {}

    /** Returns the writer of a third-party class, or null for any other class. */
    static ValueWriter writerOf(Class<?> type) {
        try {
            Converter converter = converterOf(type);
            return converter == null ? null : writer(converter, release(type));
        } catch (ReflectiveOperationException | LinkageError otherVersion) {
            return null; // the caller uses the getters of the class instead
        }
    }

    /** Returns the converter of a third-party class, or null for any other class. */
    static Converter converterOf(Class<?> type) throws ReflectiveOperationException {
        Class<?> known = Classes.nearest(type, FACTORIES.keySet());
        return known == null ? null : FACTORIES.get(known.getName()).create(known);
    }

    private static Converter release(Class<?> type) throws ReflectiveOperationException {
        Class<?> released = Classes.nearest(type, RELEASED);
        if (released == null) {
            return null;
        }
        MethodHandle release = GetterConverters.method(released, "release");
        return value -> (Object) release.invokeExact(value);
    }

    private static ValueWriter writer(Converter converter, Converter release) {
        return (encoder, value, out, depth) -> {
            if (release != null) {
                encoder.releaseLater(() -> call(release, value, "released"));
            }
            encoder.write(call(converter, value, "converted"), out, depth);
        };
    }

    private static Object call(Converter converter, Object value, String verb) {
        try {
            return converter.plain(value);
        } catch (ConversionException | Error error) {
            throw error;
        } catch (Throwable error) {
            throw new ConversionException(
                    "a " + value.getClass().getName() + " cannot be " + verb + ": " + error, error);
        }
    }
}
