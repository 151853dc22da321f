package io.pyrs.value;

import io.pyrs.Classes;
import java.io.IOException;
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

    /** Creates the converter of a class. */
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

    private static MethodHandle release(Class<?> type) throws ReflectiveOperationException {
        Class<?> released = Classes.nearest(type, RELEASED);
        return released == null ? null : GetterConverters.method(released, "release");
    }

    private static ValueWriter writer(Converter converter, MethodHandle release) {
        return new ValueWriter() {
            @Override
            public void write(ValueEncoder encoder, Object value, ValueBuffer out, int depth) throws IOException {
                if (release != null) {
                    encoder.releaseLater(value, this);
                }
                Object plain;
                try {
                    plain = converter.plain(value);
                } catch (ConversionException | Error error) {
                    throw error;
                } catch (Throwable error) {
                    throw new ConversionException(
                            "a " + value.getClass().getName() + " cannot be converted: " + error, error);
                }
                encoder.write(plain, out, depth);
            }

            @Override
            public void release(Object value) {
                if (release != null) {
                    try {
                        Object ignored = (Object) release.invokeExact(value);
                    } catch (Error error) {
                        throw error;
                    } catch (Throwable error) {
                        throw new ConversionException(
                                "a " + value.getClass().getName() + " cannot be released: " + error, error);
                    }
                }
            }
        };
    }
}
