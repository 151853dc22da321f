package io.pyrs;

/** A Python ValueError. Rules: 3.9. */
public final class PythonIllegalArgumentException extends IllegalArgumentException implements PythonError {
    private static final long serialVersionUID = 1L;

    private final Details details;

    /** An error from data; the stack trace and the cause are set afterwards. */
    public PythonIllegalArgumentException(Details details) {
        super(details.toString());
        this.details = details;
    }

    @Override
    public Details details() {
        return details;
    }

    /** The stack trace is Python's: the Java frames that happened to decode it would say nothing. */
    @Override
    public synchronized Throwable fillInStackTrace() {
        return this;
    }
}
