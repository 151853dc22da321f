package io.pyrs.tck;

/** What stands for an object of Python's. */
interface FromPython {
    /** The object's number in the scope's table on Python's side. */
    long id();
}
