package io.pyrs;

/**
 * Reports that the bridge was closed on this side. Live Subscribers receive the exception in onError, and later calls
 * throw it.
 */
public final class LinkClosedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public LinkClosedException(String message) {
        super(message);
    }

    public LinkClosedException(String message, Throwable cause) {
        super(message, cause);
    }
}
