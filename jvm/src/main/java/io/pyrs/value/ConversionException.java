package io.pyrs.value;

/** A value cannot be converted for the other side. The message names the type, or both types for a mismatch. */
public final class ConversionException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public ConversionException(String message) {
        super(message);
    }

    public ConversionException(String message, Throwable cause) {
        super(message, cause);
    }
}
