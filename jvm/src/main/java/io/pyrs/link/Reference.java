package io.pyrs.link;

/**
 * The receipt for an object of the peer's. Its stand-in holds it; when both are gone, the handle is given back.
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

    /** What the object is: 0 object, 1 publisher, 2 subscriber, 3 processor, 4 completion stage. */
    public int kind() {
        return kind;
    }

    /** The number that the peer gave it. */
    public long handle() {
        return handle;
    }

    @Override
    public String toString() {
        return "python object " + handle;
    }
}
