package io.pyrs.tck;

/** An object of Python's: an element, or what an adapter stands before. No value is converted, so none is changed. */
class Remote implements FromPython {
    final Scope scope;
    private final long id;

    Remote(Scope scope, long id) {
        this.scope = scope;
        this.id = id;
    }

    @Override public final long id() {
        return id;
    }

    final Object call(String method, Object... arguments) {
        return scope.line().call(method, id, arguments);
    }

    /** As Python compares: equal elements need not be one object. */
    @Override public final boolean equals(Object other) {
        if (!(other instanceof FromPython)) return false;
        if (this == other || ((FromPython) other).id() == id) return true;
        return Long.valueOf(1).equals(call("equals", other));
    }

    /** The same for all: what is equal in Python need not be hashable there. */
    @Override public final int hashCode() {
        return 1;
    }

    @Override public final String toString() {
        var text = call("text");
        return text == null ? "Python object " + id : (String) text;
    }
}
