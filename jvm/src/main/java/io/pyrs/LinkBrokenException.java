package io.pyrs;

/** The link to Python was lost: the process has ended, or left without a word. Every live Subscriber gets it, in onError. */
public final class LinkBrokenException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public LinkBrokenException(String message) {
        super(message);
    }
}
