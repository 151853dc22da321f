package io.pyrs.link.session;

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
        Class<?> box = seen;
        if (box == null || box == MIXED || !(element instanceof Long)) {
            return element;
        }
        long value = (Long) element;
        if (box == Integer.class) {
            return (int) value == value ? (Object) (int) value : element;
        } else if (box == Short.class) {
            return (short) value == value ? (Object) (short) value : element;
        }
        return (byte) value == value ? (Object) (byte) value : element;
    }
}
