package io.pyrs;

/** A Python exception that means a wrong state, such as a second subscription. Rules: 2.5, 2.12. */
public final class PythonIllegalStateException extends IllegalStateException implements PythonError {
    private static final long serialVersionUID = 1L;

    private final Details details;

    /** An error from data; the stack trace and the cause are set afterwards. */
    public PythonIllegalStateException(Details details) {
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
