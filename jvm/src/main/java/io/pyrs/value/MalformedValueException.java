package io.pyrs.value;

/** Bytes are not a value of the table. In a NEXT they end the stream, in other frames the link. */
public final class MalformedValueException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public MalformedValueException(String message) {
        super(message);
    }

    public MalformedValueException(String message, Throwable cause) {
        super(message, cause);
    }
}
