package io.pyrs;

import java.util.concurrent.CancellationException;

/** Represents a Python CancelledError of asyncio or concurrent.futures. */
public final class PythonCancellationException extends CancellationException implements PythonError {
    private static final long serialVersionUID = 1L;

    private final Details details;

    public PythonCancellationException(Details details) {
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
