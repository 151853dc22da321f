package io.pyrs.value;

/** Bytes that are no value of the table: the frame that held them is malformed, and ends the link. */
public final class MalformedValueException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public MalformedValueException(String message) {
        super(message);
    }

    public MalformedValueException(String message, Throwable cause) {
        super(message, cause);
    }
}
