package io.pyrs.link.protocol;

/**
 * Received bytes are malformed. After a malformed frame the link ends, and nothing of the frame is executed or
 * delivered. A malformed command is answered with this error, and a failed handshake closes its connection.
 */
public final class ProtocolException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public ProtocolException(String message) {
        super(message);
    }

    public ProtocolException(String message, Throwable cause) {
        super(message, cause);
    }
}
