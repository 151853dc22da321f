package io.pyrs.link;

import java.util.List;

/** The references in one batch or message that waits to be written. */
final class Cargo {
    static final Cargo NONE = new Cargo(new long[0], List.of());

    private final long[] owned;
    /** Held, and so alive, until the bytes were written. */
    private final List<Object> homeward;

    Cargo(long[] owned, List<Object> homeward) {
        this.owned = owned;
        this.homeward = homeward;
    }

    /** Whether any of the peer's own objects is among them. */
    boolean holdsHome() {
        return !homeward.isEmpty();
    }

    /** Takes back the handles of what will not be sent. */
    void discard(Handles handles) {
        for (long handle : owned) {
            handles.disown(handle);
        }
    }
}
