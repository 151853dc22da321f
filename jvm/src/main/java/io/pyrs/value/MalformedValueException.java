package io.pyrs.value;

/**
 * Received bytes are not a value of the table. Such an element of a NEXT ends the stream; such bytes elsewhere end the
 * link.
 */
public final class MalformedValueException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public MalformedValueException(String message) {
        super(message);
    }

    public MalformedValueException(String message, Throwable cause) {
        super(message, cause);
    }
}
