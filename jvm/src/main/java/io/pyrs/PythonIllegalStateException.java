package io.pyrs;

/** A Python exception that reports a wrong state, such as a second subscription (rules 2.5, 2.12). */
public final class PythonIllegalStateException extends IllegalStateException implements PythonError {
    private static final long serialVersionUID = 1L;

    private final Details details;

    public PythonIllegalStateException(Details details) {
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
