package io.pyrs.link.protocol;

/** A received frame is malformed. The link ends, and nothing of the frame is executed or delivered. */
public final class ProtocolException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public ProtocolException(String message) {
        super(message);
    }

    public ProtocolException(String message, Throwable cause) {
        super(message, cause);
    }
}
