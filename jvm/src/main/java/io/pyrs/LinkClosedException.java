package io.pyrs;

/**
 * Reports that the bridge was closed on this side. Live Subscribers receive the exception in onError. Calls after the
 * end of a link throw it, also if the link broke.
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
