package io.pyrs.value;

import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The forms of classes that are not the JDK's: buffers, rows, documents and messages of the libraries that publish them.
 *
 * <p>A class is known by its name, or that of a superclass or interface: nothing of these libraries is needed to compile this, and each
 * class is looked at once. Such a class is a value where the user asks for values, a reference otherwise.
 */
final class Foreign {
    /** What a value of a foreign class is in values of the table. */
    interface Converter {
        Object plain(Object value) throws Throwable;
    }

    /** Finds the methods of a class that a converter needs. */
    interface Maker {
        Converter make(Class<?> type) throws ReflectiveOperationException;
    }

    private static final Map<String, Maker> MAKERS = new HashMap<>();

    /**
     * Classes whose receiver owns what it is given, by the word of their libraries, and calls {@code release}. A ByteBuf is none of them:
     * Reactor Netty releases those that it emits.
     */
    private static final Set<String> RELEASED = Set.of(
            "org.springframework.core.io.buffer.PooledDataBuffer", "io.helidon.common.http.DataChunk", "io.rsocket.Payload");

    static {
        ForeignBytes.addTo(MAKERS);
        ForeignRows.addTo(MAKERS);
        ForeignDocuments.addTo(MAKERS);
        ForeignMessages.addTo(MAKERS);
    }

    private Foreign() {}

    /** The form of a foreign class, or null for any other class. */
    static Form formOf(Class<?> type) {
        try {
            Converter converter = converterOf(type);
            return converter == null ? null : form(converter, release(type));
        } catch (ReflectiveOperationException | LinkageError otherVersion) {
            return null; // its getters are left
        }
    }

    /** The converter of a foreign class, or null for any other class. */
    static Converter converterOf(Class<?> type) throws ReflectiveOperationException {
        for (Class<?> each : supertypes(type)) {
            Maker maker = MAKERS.get(each.getName());
            if (maker != null) {
                return maker.make(each);
            }
        }
        return null;
    }

    private static MethodHandle release(Class<?> type) throws ReflectiveOperationException {
        for (Class<?> each : supertypes(type)) {
            if (RELEASED.contains(each.getName())) {
                return Getters.method(each, "release");
            }
        }
        return null;
    }

    private static Form form(Converter converter, MethodHandle release) {
        return new Form() {
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
                    throw new ConversionException("a " + value.getClass().getName() + " cannot travel: " + error, error);
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
                        throw new ConversionException("a " + value.getClass().getName() + " cannot be released: " + error, error);
                    }
                }
            }
        };
    }

    /** The class, its superclasses, then all interfaces of these, the nearest first. */
    private static Set<Class<?>> supertypes(Class<?> type) {
        Set<Class<?>> found = new LinkedHashSet<>();
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            found.add(each);
        }
        List<Class<?>> waiting = new ArrayList<>(found);
        for (int i = 0; i < waiting.size(); i++) {
            Collections.addAll(waiting, waiting.get(i).getInterfaces());
        }
        found.addAll(waiting);
        return found;
    }
}
