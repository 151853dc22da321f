package io.pyrs;

/**
 * The identity of an object of the peer: its kind and its handle. The object's mirror keeps this reference reachable.
 * The handle is released when the reference is unreachable.
 */
public final class PeerReference {
    private final Object owner;
    private final ObjectKind kind;
    private final long handle;

    /**
     * Creates an identity.
     *
     * @param owner the handle tables of the session that received the handle
     */
    public PeerReference(Object owner, ObjectKind kind, long handle) {
        this.owner = owner;
        this.kind = kind;
        this.handle = handle;
    }

    public ObjectKind kind() {
        return kind;
    }

    /** Returns the number that the peer assigned to the object. */
    public long handle() {
        return handle;
    }

    /** Returns whether these are the handle tables of the session that received the handle. */
    public boolean isOf(Object tables) {
        return owner == tables;
    }

    @Override
    public String toString() {
        return "python object " + handle;
    }
}
