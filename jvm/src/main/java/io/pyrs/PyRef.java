package io.pyrs;

import io.pyrs.link.Reference;
import io.pyrs.link.StandIn;

/**
 * A Python object by reference. Java can hold it and pass it on; back in Python it is the same object. Two of one bridge that stand for the
 * same object are the same. When the last one is gone Python may collect its object.
 */
public final class PyRef implements StandIn {
    private final Reference reference;

    PyRef(Reference reference) {
        this.reference = reference;
    }

    @Override
    public Reference reference() {
        return reference;
    }

    @Override
    public String toString() {
        return "PyRef[" + reference + "]";
    }
}
