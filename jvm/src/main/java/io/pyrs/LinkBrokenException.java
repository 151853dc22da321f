package io.pyrs;

/**
 * Reports that the link to Python was lost, for example because the Python process ended. Live Subscribers receive the
 * exception in onError.
 */
public final class LinkBrokenException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public LinkBrokenException(String message) {
        super(message);
    }
}
