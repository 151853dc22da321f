package io.pyrs.link;

/** What came over the link is malformed: the link ends, nothing of it is executed or delivered. */
final class ProtocolException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    ProtocolException(String message) {
        super(message);
    }

    ProtocolException(String message, Throwable cause) {
        super(message, cause);
    }
}
