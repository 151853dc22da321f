package io.pyrs.value;

import io.pyrs.ObjectKind;
import io.pyrs.PeerReference;

/**
 * Resolves values that travel by reference, with the two handle tables and the mirrors of a bridge. The methods reject
 * references unless they are overridden.
 *
 * <p>A kind code is that of an {@link ObjectKind}, possibly with flags.
 */
public interface References {
    /** For data that never contains a reference, such as an error. */
    References NONE = new References() {};

    /** Exports a local object: returns its handle, and increments the number of times that it was sent. */
    default long own(Object value) {
        throw new ConversionException("a " + value.getClass().getName() + " cannot be converted here");
    }

    /** Reverts one {@link #own} of a handle that was not sent. */
    default void disown(long handle) {}

    /** Returns whether the peer runs in this process, and accepts Arrow batches without a copy. */
    default boolean sharesMemory() {
        return false;
    }

    /** Returns the code of the kind with which a local object is exported. */
    default int kindCode(Object value) {
        return 0;
    }

    /** Returns the identity of the peer's object that a mirror represents, null for any other value. */
    default PeerReference peerReference(Object value) {
        return null;
    }

    /** Returns the mirror of an object that the peer owns; called each time that its handle is received. */
    default Object remote(int kindCode, long handle) {
        throw new MalformedValueException("a reference where none is allowed");
    }

    /** Returns the local object of a handle that the peer sent back. */
    default Object local(long handle) {
        return remote(0, handle);
    }
}
