package io.pyrs.link.protocol;

/** The types of frames, whose numbers docs/protocol.md lists. */
public enum FrameType {
    HELLO(1),
    PROOF(2),
    SUBSCRIBE(3),
    ON_SUBSCRIBE(4),
    REQUEST(5),
    CANCEL(6),
    NEXT(7),
    COMPLETE(8),
    ERROR(9),
    CALL(10),
    RETURN(11),
    RELEASE(12),
    GOAWAY(13),
    SUBSCRIBED(14),
    NEXT_HOME(15);

    private static final FrameType[] TYPES = values();

    private final int code;

    FrameType(int code) {
        this.code = code;
    }

    /** Returns the type that has this code, or null for an unknown code. */
    public static FrameType ofCode(int code) {
        return code >= 1 && code <= TYPES.length ? TYPES[code - 1] : null;
    }

    public int code() {
        return code;
    }

    /** Returns whether the type is allowed before the token is proven. */
    boolean isHandshake() {
        return this == HELLO || this == PROOF || this == GOAWAY;
    }

    /** Returns whether a large body of this type may be fragmented. */
    boolean isFragmentable() {
        return this == NEXT || this == NEXT_HOME || this == ERROR || this == CALL || this == RETURN;
    }
}
