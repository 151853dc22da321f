package io.pyrs.link;

/**
 * The identity of an object of the peer. Its mirror holds it; the handle is released when both are unreachable.
 */
public final class Reference {
    final Handles owner;
    private final int kind;
    private final long handle;

    Reference(Handles owner, int kind, long handle) {
        this.owner = owner;
        this.kind = kind;
        this.handle = handle;
    }

    /** Returns the kind of the object. */
    public int kind() {
        return kind;
    }

    /** Returns the number that the peer assigned to it. */
    public long handle() {
        return handle;
    }

    @Override
    public String toString() {
        return "python object " + handle;
    }
}
