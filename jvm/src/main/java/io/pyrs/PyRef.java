package io.pyrs;

/**
 * Represents a Python object that Java holds by reference. Python receives the original object when the PyRef is sent
 * back.
 *
 * <p>A bridge has one PyRef for a Python object at a time. Python may collect the object when its PyRef is unreachable.
 */
public final class PyRef implements PeerProxy {
    private final PeerReference reference;

    /** Creates the mirror of an object that is neither Publisher nor Subscriber. */
    public PyRef(PeerReference reference) {
        this.reference = reference;
    }

    @Override
    public PeerReference reference() {
        return reference;
    }

    @Override
    public String toString() {
        return "PyRef[" + reference + "]";
    }
}
