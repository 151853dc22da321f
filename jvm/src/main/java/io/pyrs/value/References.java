package io.pyrs.value;

/**
 * What values that travel by reference need of the bridge: the two handle tables and the stand-ins.
 *
 * <p>Kinds: 0 object, 1 publisher, 2 subscriber, 3 processor, 4 completion stage.
 */
public interface References {
    /** Exports a local object: its handle, counted once more for this journey. */
    long own(Object value, int kind);

    /** Takes one {@link #own} back: the element that carried the handle never left. */
    default void disown(long handle) {}

    /** The kind under which a local object would be exported. */
    int kindOf(Object value);

    /** The peer's handle of the object that this value stands for (a mirror, a PyRef), 0 if it stands for none. */
    long home(Object value);

    /** The kind of the peer's object that this value stands for. Asked only where {@link #home} is not 0. */
    int homeKind(Object value);

    /** The stand-in for an object that the peer owns; called once for every receipt. */
    Object remote(int kind, long handle);

    /** The local object that comes home. */
    Object local(long handle);
}
