package io.pyrs.value;

import io.pyrs.Classes;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

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

    private static final Map<String, Conversion> BY_NAME = Map.of(
            "auto", AUTO,
            "references", new Conversion(Mode.REFERENCES, Map.of()),
            "values", new Conversion(Mode.VALUES, Map.of()),
            "shared", new Conversion(Mode.SHARED, Map.of()));
    private static final ValueWriter REFERENCE = (encoder, value, out, depth) -> encoder.writeReference(value, out);

    private final Mode mode;
    private final Map<String, Mode> named;
    private final ClassValue<ValueWriter> writers = Classes.cached(this::choose);

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
            ((Map<?, ?>) option)
                    .forEach((name, value) -> named.put(sourceName(String.valueOf(name)), byName(value).mode));
            return new Conversion(Mode.AUTO, named);
        }
        return byName(option);
    }

    private static Conversion byName(Object option) {
        Conversion found = BY_NAME.get(String.valueOf(option));
        if (found == null) {
            throw new IllegalArgumentException(
                    "convert must be \"auto\", \"references\", \"values\", \"shared\" or a map of class"
                            + " names to these words, not " + option);
        }
        return found;
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
        if (named.isEmpty()) {
            return mode;
        }
        return Classes.supertypes(type).stream()
                .map(this::modeNamed)
                .filter(Objects::nonNull)
                .findFirst()
                .orElse(mode);
    }

    /** Returns the mode given for this class: by its binary name, or by its source name, such as a.B.C or long[]. */
    private Mode modeNamed(Class<?> type) {
        Mode found = named.get(sourceName(type.getName()));
        return found != null ? found : named.get(sourceName(type.getTypeName()));
    }

    private static String sourceName(String name) {
        return name.replace('$', '.');
    }

    /** Returns the writer for "values", which still sends an object of the peer back by reference. */
    private static ValueWriter valueUnlessOfPeer(Class<?> type) {
        ValueWriter foreign = isSignalType(type) ? null : ForeignWriters.writerOf(type);
        ValueWriter writer = foreign != null || isSignalType(type) ? foreign : ContainerWriters.bean(type);
        return (encoder, value, out, depth) -> {
            if (encoder.isOfPeer(value)) {
                encoder.writeReference(value, out);
            } else if (writer != null) {
                writer.write(encoder, value, out, depth);
            } else {
                throw new ConversionException("a " + type.getName()
                        + " cannot be converted to a value (convert=\"values\"): the value table does not list it,"
                        + " and it has no getters");
            }
        };
    }

    /**
     * Returns whether the class is a Publisher, Subscriber, Subscription or CompletionStage. It is no container then,
     * even if it implements Queue, as the Subscriptions of Reactor's operators do.
     */
    private static boolean isSignalType(Class<?> type) {
        return Publisher.class.isAssignableFrom(type)
                || Subscriber.class.isAssignableFrom(type)
                || Flow.Publisher.class.isAssignableFrom(type)
                || Flow.Subscriber.class.isAssignableFrom(type)
                || Subscription.class.isAssignableFrom(type)
                || Flow.Subscription.class.isAssignableFrom(type)
                || CompletionStage.class.isAssignableFrom(type);
    }
}
