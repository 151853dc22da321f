package io.pyrs.link.session;

import io.pyrs.value.References;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Collects the references of a message or batch while it is encoded.
 *
 * <p>The exported handles are released again if the message is not sent. The mirrors in the message stay reachable
 * until it is written, so that their RELEASE cannot overtake it.
 */
class ReferenceCollector implements References {
    private final Handles handles;
    private long[] owned = new long[4];
    private int ownedCount;
    private List<Object> mirrors = List.of();

    ReferenceCollector(Handles handles) {
        this.handles = handles;
    }

    /** Returns the references collected since the last call. */
    CollectedReferences take() {
        if (ownedCount == 0 && mirrors.isEmpty()) {
            return CollectedReferences.NONE;
        }
        CollectedReferences collected = new CollectedReferences(Arrays.copyOf(owned, ownedCount), mirrors);
        ownedCount = 0;
        mirrors = List.of();
        return collected;
    }

    @Override
    public long own(Object value) {
        long handle = handles.own(value);
        if (ownedCount == owned.length) {
            owned = Arrays.copyOf(owned, 2 * ownedCount);
        }
        owned[ownedCount++] = handle;
        return handle;
    }

    @Override
    public void disown(long handle) {
        int at = ownedCount - 1;
        while (owned[at] != handle) {
            at--;
        }
        owned[at] = owned[--ownedCount];
        handles.disown(handle);
    }

    @Override
    public boolean sharesMemory() {
        return handles.sharesMemory();
    }

    @Override
    public int kindCode(Object value) {
        return handles.kindCode(value);
    }

    @Override
    public long peerHandle(Object value) {
        long handle = handles.peerHandle(value);
        if (handle != 0) {
            if (mirrors.isEmpty()) {
                mirrors = new ArrayList<>();
            }
            mirrors.add(value);
        }
        return handle;
    }

    @Override
    public int peerKindCode(Object value) {
        return handles.peerKindCode(value);
    }

    @Override
    public Object remote(int kindCode, long handle) {
        return handles.remote(kindCode, handle);
    }

    @Override
    public Object local(long handle) {
        return handles.local(handle);
    }
}
