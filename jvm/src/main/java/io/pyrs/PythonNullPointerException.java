package io.pyrs;

/** Represents a Python NullSignal: None was given in place of an object (rules 1.9, 2.13). */
public final class PythonNullPointerException extends NullPointerException implements PythonError {
    private static final long serialVersionUID = 1L;

    private final Details details;

    /** Creates an exception. The ErrorCodec sets its stack trace and its cause. */
    public PythonNullPointerException(Details details) {
        super(details.toString());
        this.details = details;
    }

    @Override
    public Details details() {
        return details;
    }

    /** Records no Java frames: the ErrorCodec sets the Python frames as the stack trace. */
    @Override
    public synchronized Throwable fillInStackTrace() {
        return this;
    }
}
