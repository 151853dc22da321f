package io.pyrs.link.protocol;

/** The reasons for a GOAWAY, whose codes docs/protocol.md lists. */
public enum GoAwayReason {
    CLOSING,
    INTERNAL_ERROR,
    MALFORMED,
    VERSION;

    public int code() {
        return ordinal();
    }
}
