package io.pyrs;

import java.util.concurrent.CancellationException;

/** Represents a Python CancelledError of asyncio or concurrent.futures. */
public final class PythonCancellationException extends CancellationException implements PythonError {
    private static final long serialVersionUID = 1L;

    private final Details details;

    /** Creates an exception. The ErrorCodec sets its stack trace and its cause. */
    public PythonCancellationException(Details details) {
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
