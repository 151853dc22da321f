package io.pyrs.link.session;

import java.util.List;

/** The references in one batch or message, kept until it is written. */
final class CollectedReferences {
    static final CollectedReferences NONE = new CollectedReferences(new long[0], List.of());

    private final long[] owned;
    /** Mirrors that are sent back to the peer. This list keeps them reachable until the bytes are written. */
    private final List<Object> mirrors;

    CollectedReferences(long[] owned, List<Object> mirrors) {
        this.owned = owned;
        this.mirrors = mirrors;
    }

    /** Returns whether objects of the peer are among the references. */
    boolean containsPeerObjects() {
        return !mirrors.isEmpty();
    }

    /** Reverts the exports of a batch or message that is not sent. */
    void discard(Handles handles) {
        for (long handle : owned) {
            handles.disown(handle);
        }
    }
}
