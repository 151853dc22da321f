package io.pyrs.link.session;

import io.pyrs.value.Conversion;
import io.pyrs.value.ElementType;
import java.util.HashMap;
import java.util.Map;

/** The options of a mirror, and the {@link IntegerBoxing} of a stage. */
public final class StreamOptions {
    /** No options. */
    public static final StreamOptions DEFAULT = new StreamOptions(Map.of(), ElementType.ANY, null);

    /** Exact demand, and no other options. */
    static final StreamOptions EXACT = new StreamOptions(Map.of("exact", true), ElementType.ANY, null);

    private final Map<?, ?> options;
    private final ElementType elementType;
    private final IntegerBoxing boxes;

    private StreamOptions(Map<?, ?> options, ElementType elementType, IntegerBoxing boxes) {
        this.options = options;
        this.elementType = elementType;
        this.boxes = boxes;
    }

    /**
     * Parses the options {@code element_type}, {@code exact} and {@code convert}; ignores others.
     *
     * @throws IllegalArgumentException if the element type is not found, or {@code convert} is invalid
     */
    public static StreamOptions of(Map<?, ?> options, ClassLoader loader) {
        if (options == null || options.isEmpty()) {
            return DEFAULT;
        }
        Object name = options.get("element_type");
        Conversion.of(options.get("convert"));
        return new StreamOptions(
                new HashMap<>(options), ElementType.of(name == null ? null : name.toString(), loader), null);
    }

    StreamOptions with(IntegerBoxing recorder) {
        return new StreamOptions(options, elementType, recorder);
    }

    public boolean isDefault() {
        return this == DEFAULT;
    }

    /** Returns the type of the elements, or of the results of a callable. */
    public ElementType elementType() {
        return elementType;
    }

    IntegerBoxing boxes() {
        return boxes;
    }

    boolean exact() {
        return Boolean.TRUE.equals(options.get("exact"));
    }

    /** Returns the conversion that the consumer chose. */
    public Conversion conversion() {
        return Conversion.of(options.get("convert"));
    }

    boolean hasElementType() {
        return elementType != ElementType.ANY;
    }

    /**
     * Returns the options that ON_SUBSCRIBE sends. Python needs to know of shared record batches, whose window must not
     * grow.
     */
    Map<String, Object> onSubscribeWire() {
        return wire(conversion().isShared() ? "shared" : null);
    }

    /** Returns the options that SUBSCRIBE sends. */
    Map<String, Object> wire() {
        return wire(options.get("convert"));
    }

    private Map<String, Object> wire(Object convert) {
        Map<String, Object> wire = new HashMap<>();
        if (exact()) {
            wire.put("exact", true);
        }
        if (convert != null) {
            wire.put("convert", convert);
        }
        return wire;
    }
}
