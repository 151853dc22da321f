package io.pyrs.value;

import java.util.ArrayList;
import java.util.List;

/** A value as it is when it has been to Python and back, without the journey: nothing in it depends on where it came from. */
public final class ValueCopy {
    private ValueCopy() {}

    /**
     * The plain values of an object: lists, maps, bytes, text and numbers. What the conversion leaves a reference stays the object.
     *
     * @throws ConversionException if it has no form
     */
    public static Object of(Object value, Conversion conversion) {
        Kept kept = new Kept();
        ValueBuffer buffer = new ValueBuffer(256);
        new ValueEncoder(kept, conversion).encode(value, buffer);
        return new ValueDecoder(kept, ElementType.ANY).decode(buffer.take());
    }

    /** References for an encoding that nobody reads. */
    static References nowhere() {
        return new Kept();
    }

    /** References that go nowhere: each is the number of an object in a list. */
    private static final class Kept extends NoReferences {
        private final List<Object> objects = new ArrayList<>();

        @Override
        public long own(Object value, int kind) {
            objects.add(value);
            return objects.size();
        }

        @Override
        public Object remote(int kind, long handle) {
            return objects.get((int) handle - 1);
        }
    }
}
