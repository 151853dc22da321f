package io.pyrs.tck;

/** A Python object by reference: an element, or the subject behind a proxy. Its value is never converted. */
class PythonObject implements PythonProxy {
    private final Scope scope;
    private final long id;

    PythonObject(Scope scope, long id) {
        this.scope = scope;
        this.id = id;
    }

    /** Creates another proxy of the same Python object. */
    PythonObject(PythonObject other) {
        this(other.scope, other.id);
    }

    @Override
    public final long id() {
        return id;
    }

    final Object call(String method, Object... arguments) {
        return scope.connection().call(method, id, arguments);
    }

    /** Compares in Python, where equal elements need not be the same object. */
    @Override
    public final boolean equals(Object other) {
        if (!(other instanceof PythonProxy)) return false;
        if (this == other || ((PythonProxy) other).id() == id) return true;
        return Long.valueOf(1).equals(call("equals", other));
    }

    /** Returns a constant, since an object that defines equality in Python need not be hashable there. */
    @Override
    public final int hashCode() {
        return 1;
    }

    @Override
    public final String toString() {
        var text = call("text");
        return text == null ? "Python object " + id : (String) text;
    }
}
