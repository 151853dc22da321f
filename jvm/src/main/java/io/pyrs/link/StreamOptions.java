package io.pyrs.link;

import io.pyrs.value.Conversion;
import io.pyrs.value.ElementType;
import java.util.HashMap;
import java.util.Map;

/** What was said when a mirror was made: the options of {@code to_jvm}, and the boxes of a stage's integers. */
public final class StreamOptions {
    /** Nothing was said. */
    public static final StreamOptions DEFAULT = new StreamOptions(Map.of(), ElementType.ANY, null);

    private final Map<?, ?> options;
    private final ElementType elementType;
    private final Boxes boxes;

    private StreamOptions(Map<?, ?> options, ElementType elementType, Boxes boxes) {
        this.options = options;
        this.elementType = elementType;
        this.boxes = boxes;
    }

    /**
     * Reads the options {@code element_type}, {@code exact}, {@code max_prefetch} and {@code convert}; others are left alone.
     *
     * @throws IllegalArgumentException if the element type is not to be found, or a wish is none
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

    StreamOptions with(Boxes noted) {
        return new StreamOptions(options, elementType, noted);
    }

    /** Whether anything was said. */
    public boolean isDefault() {
        return this == DEFAULT;
    }

    ElementType elementType() {
        return elementType;
    }

    Boxes boxes() {
        return boxes;
    }

    boolean exact() {
        return Boolean.TRUE.equals(options.get("exact"));
    }

    /** What the consumer end wants of values that have more than one form. */
    Conversion conversion() {
        return Conversion.of(options.get("convert"));
    }

    /** Whether elements keep the class that the value table gives them. */
    boolean hasElementType() {
        return elementType != ElementType.ANY;
    }

    int maxPrefetch(int standard) {
        Object wish = options.get("max_prefetch");
        return wish instanceof Number ? Math.max(1, Math.min(standard, ((Number) wish).intValue())) : standard;
    }

    /** What the peer is told of them. */
    Map<String, Object> wire() {
        Map<String, Object> wire = new HashMap<>();
        if (exact()) {
            wire.put("exact", true);
        }
        Object convert = options.get("convert");
        if (convert != null) {
            wire.put("convert", convert);
        }
        return wire;
    }
}
