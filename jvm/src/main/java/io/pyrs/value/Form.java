package io.pyrs.value;

import java.io.IOException;

/** How the values of one class are written. Chosen once for a class, see {@link Conversion}. */
@FunctionalInterface
interface Form {
    void write(ValueEncoder encoder, Object value, ValueBuffer out, int depth) throws IOException;

    /** Gives back what the receiver of the value is to give back, such as a pooled buffer. */
    default void release(Object value) {}
}
