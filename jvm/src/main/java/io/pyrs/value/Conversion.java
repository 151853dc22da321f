package io.pyrs.value;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;

/**
 * Selects the Java classes that travel as values and as references: the {@code convert=} of {@code from_jvm}.
 *
 * <p>The writer of a class is determined once and cached in a {@link ClassValue}, which does not keep the class loader
 * reachable.
 */
public final class Conversion {
    private enum Mode {
        AUTO,
        REFERENCES,
        VALUES,
        SHARED,
        PLAIN
    }

    /** Sends the classes of the value table as values, all others as references. */
    public static final Conversion AUTO = new Conversion(Mode.AUTO, Map.of());

    /** Sends null, boxes, BigInteger, String and byte[] as values, all others as references. */
    public static final Conversion PLAIN = new Conversion(Mode.PLAIN, Map.of());

    private static final Conversion REFERENCES = new Conversion(Mode.REFERENCES, Map.of());
    private static final Conversion VALUES = new Conversion(Mode.VALUES, Map.of());
    private static final Conversion SHARED = new Conversion(Mode.SHARED, Map.of());
    private static final ValueWriter REFERENCE = (encoder, value, out, depth) -> encoder.writeReference(value, out);

    private final Mode mode;
    private final Map<String, Mode> named;
    private final ClassValue<ValueWriter> writers = new ClassValue<>() {
        @Override
        protected ValueWriter computeValue(Class<?> type) {
            return choose(type);
        }
    };

    private Conversion(Mode mode, Map<String, Mode> named) {
        this.mode = mode;
        this.named = named;
    }

    /**
     * Parses the option: null, "auto", "references", "values", "shared", or a map of class names to these words.
     *
     * @throws IllegalArgumentException for any other option
     */
    public static Conversion of(Object option) {
        if (option == null) {
            return AUTO;
        }
        if (option instanceof Map) {
            Map<String, Mode> named = new HashMap<>();
            ((Map<?, ?>) option).forEach((name, value) -> named.put(String.valueOf(name), mode(value)));
            return new Conversion(Mode.AUTO, named);
        }
        switch (mode(option)) {
            case REFERENCES:
                return REFERENCES;
            case VALUES:
                return VALUES;
            case SHARED:
                return SHARED;
            default:
                return AUTO;
        }
    }

    private static Mode mode(Object option) {
        switch (String.valueOf(option)) {
            case "auto":
                return Mode.AUTO;
            case "references":
                return Mode.REFERENCES;
            case "values":
                return Mode.VALUES;
            case "shared":
                return Mode.SHARED;
            default:
                throw new IllegalArgumentException(
                        "convert must be \"auto\", \"references\", \"values\", \"shared\" or a map of class"
                                + " names to these words, not " + option);
        }
    }

    /** Returns whether record batches may share their memory with Python. */
    public boolean isShared() {
        return mode == Mode.SHARED || named.containsValue(Mode.SHARED);
    }

    ValueWriter writerOf(Class<?> type) {
        return writers.get(type);
    }

    private ValueWriter choose(Class<?> type) {
        if (mode == Mode.PLAIN) {
            return ScalarWriters.isPlain(type) ? ScalarWriters.writerOf(type) : REFERENCE;
        }
        ValueWriter scalar = ScalarWriters.writerOf(type);
        if (scalar != null) {
            return scalar; // the mode does not matter
        }
        Mode chosen = modeFor(type);
        if (chosen == Mode.REFERENCES) {
            return REFERENCE;
        }
        if (!isSignalType(type)) {
            ValueWriter container = ContainerWriters.writerOf(type);
            if (container != null) {
                return chosen == Mode.SHARED && ContainerWriters.isArrowRoot(type)
                        ? SharedBatch.writerOf(type, container)
                        : container;
            }
        }
        return chosen == Mode.VALUES ? valueUnlessOfPeer(type) : REFERENCE;
    }

    /** Returns the mode given for the class, or for the nearest of its superclasses and their interfaces. */
    private Mode modeFor(Class<?> type) {
        if (!named.isEmpty()) {
            for (Class<?> each = type; each != null; each = each.getSuperclass()) {
                Mode chosen = namedMode(each);
                if (chosen != null) {
                    return chosen;
                }
            }
        }
        return mode;
    }

    private Mode namedMode(Class<?> type) {
        Mode chosen = named.get(type.getName());
        for (Class<?> each : type.getInterfaces()) {
            chosen = chosen == null ? namedMode(each) : chosen;
        }
        return chosen;
    }

    /** Returns the writer for "values", which still sends an object of the peer back by reference. */
    private static ValueWriter valueUnlessOfPeer(Class<?> type) {
        ValueWriter foreign = isSignalType(type) ? null : ForeignWriters.writerOf(type);
        ValueWriter writer = foreign != null || isSignalType(type) ? foreign : ContainerWriters.bean(type);
        return new ValueWriter() {
            @Override
            public void write(ValueEncoder encoder, Object value, ValueBuffer out, int depth) throws IOException {
                if (encoder.isOfPeer(value)) {
                    encoder.writeReference(value, out);
                } else if (writer != null) {
                    writer.write(encoder, value, out, depth);
                } else {
                    throw new ConversionException("a " + type.getName()
                            + " cannot be converted to a value (convert=\"values\"): the value table does not list it,"
                            + " and it has no getters");
                }
            }

            @Override
            public void release(Object value) {
                if (writer != null) {
                    writer.release(value);
                }
            }
        };
    }

    private static boolean isSignalType(Class<?> type) {
        return Publisher.class.isAssignableFrom(type)
                || Subscriber.class.isAssignableFrom(type)
                || Flow.Publisher.class.isAssignableFrom(type)
                || Flow.Subscriber.class.isAssignableFrom(type)
                || CompletionStage.class.isAssignableFrom(type);
    }
}
