package io.pyrs.link.session;

import io.pyrs.value.ElementType;

/**
 * Remembers the box type of the integers that enter a Python stage, to restore it for the integers that leave it.
 *
 * <p>Python has one int, but a {@code Flux<Integer>} transformed by {@code s -> s.map(...)} must still emit Integers.
 */
public final class IntegerBoxing {
    private static final Class<?> MIXED = Object.class;

    private volatile Class<?> seen;

    /** Records an element that is sent to Python. */
    void record(Object element) {
        Class<?> type = element.getClass();
        if (type != seen) {
            seen = seen == null && (type == Integer.class || type == Short.class || type == Byte.class) ? type : MIXED;
        }
    }

    /** Converts an integer from Python to the recorded box type, if there is exactly one and the value fits. */
    Object restore(Object element) {
        Object boxed = element instanceof Long ? ElementType.narrow((Long) element, seen) : null;
        return boxed == null ? element : boxed;
    }
}
