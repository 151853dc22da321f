package io.pyrs;

/** A Python exception without a counterpart among Java's standard exceptions. */
public final class PythonException extends RuntimeException implements PythonError {
    private static final long serialVersionUID = 1L;

    private final Details details;

    public PythonException(Details details) {
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
