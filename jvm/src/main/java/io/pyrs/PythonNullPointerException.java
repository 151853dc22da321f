package io.pyrs;

/** Represents a Python NullSignal: None was given in place of an object (rules 1.9, 2.13). */
public final class PythonNullPointerException extends NullPointerException implements PythonError {
    private static final long serialVersionUID = 1L;

    private final Details details;

    public PythonNullPointerException(Details details) {
        super(details.toString());
        this.details = details;
    }

    @Override
    public Details details() {
        return details;
    }

    @Override
    public synchronized Throwable fillInStackTrace() {
        return this;
    }
}
