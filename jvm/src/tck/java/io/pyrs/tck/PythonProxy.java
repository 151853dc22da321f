package io.pyrs.tck;

/** An object that represents a Python object in Java. */
interface PythonProxy {
    /** Returns the number of the Python object in the scope's table on the Python side. */
    long id();
}
