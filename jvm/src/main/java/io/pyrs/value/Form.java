package io.pyrs.value;

import java.io.IOException;

/** How the values of one class are written. Chosen once for a class, see {@link Conversion}. */
@FunctionalInterface
interface Form {
    void write(ValueEncoder encoder, Object value, ValueBuffer out, int depth) throws IOException;
}
