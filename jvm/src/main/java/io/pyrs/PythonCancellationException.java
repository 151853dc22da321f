package io.pyrs;

import java.util.concurrent.CancellationException;

/** A Python CancelledError, of asyncio or concurrent.futures. */
public final class PythonCancellationException extends CancellationException implements PythonError {
    private static final long serialVersionUID = 1L;

    private final Details details;

    /** An error from data; the stack trace and the cause are set afterwards. */
    public PythonCancellationException(Details details) {
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
