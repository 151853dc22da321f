package io.pyrs.link;

import io.pyrs.value.References;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Collects the references of a message or batch while it is encoded.
 *
 * <p>The exported handles are released again if the message is not sent. The mirrors in it stay reachable until it is
 * written, so that their RELEASE cannot overtake it.
 */
class Carried implements References {
    private final Handles handles;
    private long[] owned = new long[4];
    private int ownedCount;
    private List<Object> mirrors = List.of();

    Carried(Handles handles) {
        this.handles = handles;
    }

    /** Returns the references collected since the last call. */
    Cargo take() {
        if (ownedCount == 0 && mirrors.isEmpty()) {
            return Cargo.NONE;
        }
        Cargo cargo = new Cargo(Arrays.copyOf(owned, ownedCount), mirrors);
        ownedCount = 0;
        mirrors = List.of();
        return cargo;
    }

    @Override
    public long own(Object value, int kind) {
        long handle = handles.own(value, kind);
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
    public int kindOf(Object value) {
        return handles.kindOf(value);
    }

    @Override
    public long home(Object value) {
        long handle = handles.home(value);
        if (handle != 0) {
            if (mirrors.isEmpty()) {
                mirrors = new ArrayList<>();
            }
            mirrors.add(value);
        }
        return handle;
    }

    @Override
    public int homeKind(Object value) {
        return handles.homeKind(value);
    }

    @Override
    public Object remote(int kind, long handle) {
        return handles.remote(kind, handle);
    }

    @Override
    public Object local(long handle) {
        return handles.local(handle);
    }
}
