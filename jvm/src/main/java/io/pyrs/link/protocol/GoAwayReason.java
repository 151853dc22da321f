package io.pyrs.link.protocol;

/** The reasons for a GOAWAY, with their codes in docs/protocol.md. */
public enum GoAwayReason {
    CLOSING,
    INTERNAL_ERROR,
    MALFORMED,
    VERSION;

    public int code() {
        return ordinal();
    }
}
