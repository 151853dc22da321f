package io.pyrs.value;

/** Bytes are not a value of the table. They end the stream whose elements they are, and in other frames the link. */
public final class MalformedValueException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public MalformedValueException(String message) {
        super(message);
    }

    public MalformedValueException(String message, Throwable cause) {
        super(message, cause);
    }
}
