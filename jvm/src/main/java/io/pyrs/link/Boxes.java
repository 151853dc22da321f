package io.pyrs.link;

/**
 * Which box the integers of a stream had on their way to Python, so that those that come out of the same stage leave in the same:
 * Python has one int, and {@code Flux<Integer>} through {@code s -> s.map(...)} should stay what it says.
 */
public final class Boxes {
    private static final Class<?> MIXED = Object.class;

    private volatile Class<?> seen;

    /** Notes an element that goes to Python. */
    void note(Object element) {
        Class<?> type = element.getClass();
        if (type != seen) {
            seen = seen == null && (type == Integer.class || type == Short.class || type == Byte.class) ? type : MIXED;
        }
    }

    /** An element that comes from Python, in the box that all went in with, if it fits. */
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
