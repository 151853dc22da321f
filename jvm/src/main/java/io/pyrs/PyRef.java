package io.pyrs;

import io.pyrs.link.Reference;
import io.pyrs.link.StandIn;

/**
 * A Python object by reference. Back in Python it is the same object.
 *
 * <p>A bridge has one PyRef for a Python object at a time. Python may collect the object when its PyRef is unreachable.
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
