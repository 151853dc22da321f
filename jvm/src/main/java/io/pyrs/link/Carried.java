package io.pyrs.link;

import io.pyrs.value.References;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The references of one message or batch that is being encoded. Handles of ours are un-counted if it is never sent; objects of the
 * peer's that go home are held until it was, so that RELEASE cannot overtake them.
 */
class Carried implements References {
    private final Handles handles;
    private long[] owned = new long[4];
    private int ownedCount;
    private List<Object> homeward = List.of();

    Carried(Handles handles) {
        this.handles = handles;
    }

    /** What was carried since the last call. */
    Cargo take() {
        if (ownedCount == 0 && homeward.isEmpty()) {
            return Cargo.NONE;
        }
        Cargo cargo = new Cargo(Arrays.copyOf(owned, ownedCount), homeward);
        ownedCount = 0;
        homeward = List.of();
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
            if (homeward.isEmpty()) {
                homeward = new ArrayList<>();
            }
            homeward.add(value);
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
