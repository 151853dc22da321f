package io.pyrs.link;

/** A received frame is malformed. The link ends, and nothing of the frame is executed or delivered. */
final class ProtocolException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    ProtocolException(String message) {
        super(message);
    }

    ProtocolException(String message, Throwable cause) {
        super(message, cause);
    }
}
