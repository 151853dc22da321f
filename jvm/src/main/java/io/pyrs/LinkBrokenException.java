package io.pyrs;

/** The link to Python was lost, for example because the process ended. Every live Subscriber receives it in onError. */
public final class LinkBrokenException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public LinkBrokenException(String message) {
        super(message);
    }
}
