package io.pyrs.value;

import io.pyrs.ObjectKind;

/**
 * Resolves values that travel by reference, with the two handle tables and the mirrors of a bridge.
 *
 * <p>A kind code is that of an {@link ObjectKind}, possibly with flags.
 */
public interface References {
    /** Exports a local object: returns its handle, and increments the number of times that it was sent. */
    long own(Object value);

    /** Reverts one {@link #own} of a handle that was not sent. */
    default void disown(long handle) {}

    /** Returns whether the peer runs in this process, and accepts Arrow batches without a copy. */
    default boolean sharesMemory() {
        return false;
    }

    /** Returns the code of the kind with which a local object is exported. */
    int kindCode(Object value);

    /** Returns the peer's handle of the object that a mirror represents, 0 for any other value. */
    long peerHandle(Object value);

    /**
     * Returns the code of the kind of the peer's object that a value represents. Called only if {@link #peerHandle} is
     * not 0.
     */
    int peerKindCode(Object value);

    /** Returns the mirror of an object that the peer owns; called each time that its handle is received. */
    Object remote(int kindCode, long handle);

    /** Returns the local object of a handle that the peer sent back. */
    Object local(long handle);
}
