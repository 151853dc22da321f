package io.pyrs.value;

import java.io.IOException;

/** Writes the values of one class. {@link Conversion} selects a writer for each class. */
@FunctionalInterface
interface ValueWriter {
    void write(ValueEncoder encoder, Object value, ValueBuffer out, int depth) throws IOException;
}
