package io.pyrs.value;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;

/**
 * Which Java classes travel as values and which as references: the {@code convert=} of {@code from_jvm}.
 *
 * <p>The form of a class is found once and kept with the class (a {@link ClassValue}, so a class loader can still go).
 */
public final class Conversion {
    private enum Mode {
        AUTO,
        REFERENCES,
        VALUES,
        PLAIN
    }

    /** Rows of the table are values, everything else is a reference. */
    public static final Conversion AUTO = new Conversion(Mode.AUTO, Map.of());

    /** Only what Python has a plain type of its own for is a value: None, bool, int, float, str and bytes. */
    public static final Conversion PLAIN = new Conversion(Mode.PLAIN, Map.of());

    private static final Conversion REFERENCES = new Conversion(Mode.REFERENCES, Map.of());
    private static final Conversion VALUES = new Conversion(Mode.VALUES, Map.of());
    private static final Form REFERENCE = (encoder, value, out, depth) -> encoder.writeReference(value, out);

    private final Mode mode;
    private final Map<String, Mode> named;
    private final ClassValue<Form> forms = new ClassValue<>() {
        @Override
        protected Form computeValue(Class<?> type) {
            return choose(type);
        }
    };

    private Conversion(Mode mode, Map<String, Mode> named) {
        this.mode = mode;
        this.named = named;
    }

    /**
     * Reads the option: null, "auto", "references", "values", or a map of class names to "values" or "references".
     *
     * @throws IllegalArgumentException if it is anything else
     */
    public static Conversion of(Object option) {
        if (option == null) {
            return AUTO;
        }
        if (option instanceof Map) {
            Map<String, Mode> named = new HashMap<>();
            ((Map<?, ?>) option).forEach((name, wish) -> named.put(String.valueOf(name), mode(wish)));
            return new Conversion(Mode.AUTO, named);
        }
        switch (mode(option)) {
            case REFERENCES:
                return REFERENCES;
            case VALUES:
                return VALUES;
            default:
                return AUTO;
        }
    }

    private static Mode mode(Object wish) {
        switch (String.valueOf(wish)) {
            case "auto":
                return Mode.AUTO;
            case "references":
                return Mode.REFERENCES;
            case "values":
                return Mode.VALUES;
            default:
                throw new IllegalArgumentException("convert is \"auto\", \"references\", \"values\" or a map of class"
                        + " names to \"references\" or \"values\", not " + wish);
        }
    }

    Form formOf(Class<?> type) {
        return forms.get(type);
    }

    private Form choose(Class<?> type) {
        if (mode == Mode.PLAIN) {
            return Scalars.isPlain(type) ? Scalars.formOf(type) : REFERENCE;
        }
        Form scalar = Scalars.formOf(type);
        if (scalar != null) {
            return scalar; // in every mode
        }
        Mode wish = wishFor(type);
        if (wish == Mode.REFERENCES) {
            return REFERENCE;
        }
        if (!isSignalSource(type)) {
            Form container = Containers.formOf(type);
            if (container != null) {
                return container;
            }
        }
        return wish == Mode.VALUES ? valueOrHome(type) : REFERENCE;
    }

    /** What was said about the class, or about the nearest of its superclasses and their interfaces. */
    private Mode wishFor(Class<?> type) {
        if (!named.isEmpty()) {
            for (Class<?> each = type; each != null; each = each.getSuperclass()) {
                Mode wish = wishForOneOf(each);
                if (wish != null) {
                    return wish;
                }
            }
        }
        return mode;
    }

    private Mode wishForOneOf(Class<?> type) {
        Mode wish = named.get(type.getName());
        for (Class<?> each : type.getInterfaces()) {
            wish = wish == null ? wishForOneOf(each) : wish;
        }
        return wish;
    }

    /** "values" still lets an object of the peer go home: that it is the peer's own is the best value there is. */
    private static Form valueOrHome(Class<?> type) {
        Form foreign = isSignalSource(type) ? null : Foreign.formOf(type);
        Form form = foreign != null || isSignalSource(type) ? foreign : Containers.bean(type);
        return new Form() {
            @Override
            public void write(ValueEncoder encoder, Object value, ValueBuffer out, int depth) throws IOException {
                if (encoder.isOfPeer(value)) {
                    encoder.writeReference(value, out);
                } else if (form != null) {
                    form.write(encoder, value, out, depth);
                } else {
                    throw new ConversionException("a " + type.getName()
                            + " has no form as a value (convert=\"values\"): it is no row of the table, has no getters");
                }
            }

            @Override
            public void release(Object value) {
                if (form != null) {
                    form.release(value);
                }
            }
        };
    }

    private static boolean isSignalSource(Class<?> type) {
        return Publisher.class.isAssignableFrom(type)
                || Subscriber.class.isAssignableFrom(type)
                || Flow.Publisher.class.isAssignableFrom(type)
                || Flow.Subscriber.class.isAssignableFrom(type)
                || CompletionStage.class.isAssignableFrom(type);
    }
}
