package io.pyrs.link;

import io.pyrs.value.References;
import java.util.ArrayList;
import java.util.List;

/**
 * The references of one message or batch that is being encoded. Handles of ours are un-counted if it is never sent; objects of the
 * peer's that go home are held until it was, so that RELEASE cannot overtake them.
 */
final class Carried implements References {
    private final Handles handles;
    /** Ours as their handles (Long), the peer's as their stand-ins. */
    private List<Object> carried = new ArrayList<>(0);

    Carried(Handles handles) {
        this.handles = handles;
    }

    /** What was carried since the last call. */
    List<Object> take() {
        List<Object> taken = carried;
        if (taken.isEmpty()) {
            return List.of();
        }
        carried = new ArrayList<>(taken.size());
        return taken;
    }

    /** Whether any of the peer's own objects is among what was carried. */
    static boolean holdsHome(List<Object> carried) {
        for (Object each : carried) {
            if (!(each instanceof Long)) {
                return true;
            }
        }
        return false;
    }

    /** Takes back the handles of something that will not be sent. */
    static void discard(Handles handles, List<Object> carried) {
        for (Object each : carried) {
            if (each instanceof Long) {
                handles.disown((Long) each);
            }
        }
    }

    @Override
    public long own(Object value, int kind) {
        long handle = handles.own(value, kind);
        carried.add(handle);
        return handle;
    }

    @Override
    public void disown(long handle) {
        carried.remove((Object) handle);
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
            carried.add(value);
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
