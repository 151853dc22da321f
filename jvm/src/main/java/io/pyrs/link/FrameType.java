package io.pyrs.link;

/** The types of frames, with their numbers in docs/protocol.md. */
final class FrameType {
    static final int HELLO = 1;
    static final int PROOF = 2;
    static final int SUBSCRIBE = 3;
    static final int ON_SUBSCRIBE = 4;
    static final int REQUEST = 5;
    static final int CANCEL = 6;
    static final int NEXT = 7;
    static final int COMPLETE = 8;
    static final int ERROR = 9;
    static final int CALL = 10;
    static final int RETURN = 11;
    static final int RELEASE = 12;
    static final int GOAWAY = 13;
    static final int SUBSCRIBED = 14;
    static final int NEXT_HOME = 15;

    private static final String[] NAMES = {
        "", "HELLO", "PROOF", "SUBSCRIBE", "ON_SUBSCRIBE", "REQUEST", "CANCEL", "NEXT", "COMPLETE", "ERROR", "CALL",
        "RETURN", "RELEASE", "GOAWAY", "SUBSCRIBED", "NEXT_HOME"
    };

    private FrameType() {}

    static boolean isKnown(int type) {
        return type >= HELLO && type <= NEXT_HOME;
    }

    /** Returns whether the type is allowed before the token is proven. */
    static boolean isOpening(int type) {
        return type == HELLO || type == PROOF || type == GOAWAY;
    }

    /** Returns whether a large body of this type may be fragmented. */
    static boolean isCutInPieces(int type) {
        return type == NEXT || type == NEXT_HOME || type == ERROR || type == CALL || type == RETURN;
    }

    static String name(int type) {
        return isKnown(type) ? NAMES[type] : "type " + type;
    }
}
