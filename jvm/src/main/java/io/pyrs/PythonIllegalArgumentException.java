package io.pyrs;

/** Represents a Python ValueError. Rule 3.9 requires an IllegalArgumentException for a non-positive request. */
public final class PythonIllegalArgumentException extends IllegalArgumentException implements PythonError {
    private static final long serialVersionUID = 1L;

    private final Details details;

    public PythonIllegalArgumentException(Details details) {
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
