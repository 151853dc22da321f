package io.pyrs.value;

import java.util.List;

/** The references in one batch or message, kept until it is written. */
public final class SentReferences {
    public static final SentReferences NONE = new SentReferences(new long[0], List.of());

    private final long[] owned;
    /** Mirrors that are sent back to the peer. Their RELEASE cannot overtake the bytes while they are reachable. */
    private final List<Object> mirrors;

    SentReferences(long[] owned, List<Object> mirrors) {
        this.owned = owned;
        this.mirrors = mirrors;
    }

    /** Returns whether objects of the peer are among the references. */
    public boolean containsPeerObjects() {
        return !mirrors.isEmpty();
    }

    /** Reverts the exports of a batch or message that is not sent. */
    public void discard(References references) {
        for (long handle : owned) {
            references.disown(handle);
        }
    }
}
