package io.pyrs.value;

import io.pyrs.Limits;

/** The numbers of the msgpack extension types; docs/values.md lists them. */
final class ExtensionTypes {
    static final byte BIG_INTEGER = 1;
    static final byte DECIMAL = 2;
    static final byte DATE = 3;
    static final byte TIME = 4;
    static final byte LOCAL_DATETIME = 5;
    static final byte DATETIME = 6;
    static final byte DURATION = 7;
    static final byte UUID = 8;
    static final byte SET = 9;
    static final byte ARROW = 10;
    static final byte SENDER_OWNS = 16;
    static final byte RECEIVER_OWNS = 17;

    /**
     * The maximum depth of nested containers, the same in both languages and far below the limit of a thread's stack.
     */
    static final int MAX_DEPTH = Limits.of("value.depth");

    private ExtensionTypes() {}

    static boolean isKnown(byte type) {
        return type >= BIG_INTEGER && type <= ARROW || type == SENDER_OWNS || type == RECEIVER_OWNS;
    }
}
