package io.pyrs.value;

/**
 * Resolves values that travel by reference: the two handle tables of a bridge and its proxies.
 *
 * <p>Kinds: 0 object, 1 publisher, 2 subscriber, 3 processor, 4 completion stage.
 */
public interface References {
    /** Exports a local object: returns its handle and counts one more transfer. */
    long own(Object value, int kind);

    /** Reverts one {@link #own} of a handle that was not sent. */
    default void disown(long handle) {}

    /** Returns the kind with which a local object is exported. */
    int kindOf(Object value);

    /** Returns the peer's handle of the object that a mirror or PyRef represents, 0 for any other value. */
    long home(Object value);

    /** Returns the kind of the peer's object that a value represents. Called only if {@link #home} is not 0. */
    int homeKind(Object value);

    /** Returns the proxy of an object that the peer owns; called once for each received handle. */
    Object remote(int kind, long handle);

    /** Returns the local object of a handle that the peer sent back. */
    Object local(long handle);
}
