package io.pyrs.link;

/**
 * Objects of ours by their handle and by their identity. One entry serves both chains, and nothing is boxed: a reference that
 * crosses and comes back costs one allocation.
 */
final class OwnedTable {
    /** One of our objects, and how often its handle was sent. */
    static final class Owned {
        final Object target;
        final long handle;
        private final int identity;
        private Owned nextByHandle;
        private Owned nextByIdentity;
        long count;
        boolean claimed;
        Boxes boxes;

        private Owned(Object target, long handle, int identity) {
            this.target = target;
            this.handle = handle;
            this.identity = identity;
        }
    }

    private static final int SMALLEST = 64;

    private Owned[] byHandle = new Owned[SMALLEST];
    private Owned[] byIdentity = new Owned[SMALLEST];
    private int size;
    private long last;

    /** The entry of a handle, null if there is none. */
    Owned find(long handle) {
        Owned owned = byHandle[slot(handle, byHandle.length)];
        while (owned != null && owned.handle != handle) {
            owned = owned.nextByHandle;
        }
        return owned;
    }

    /** The entry of an object, null if there is none. */
    Owned find(Object target) {
        return find(target, System.identityHashCode(target));
    }

    private Owned find(Object target, int identity) {
        Owned owned = byIdentity[slot(identity, byIdentity.length)];
        while (owned != null && owned.target != target) {
            owned = owned.nextByIdentity;
        }
        return owned;
    }

    /** The entry of an object, made if there is none. */
    Owned findOrAdd(Object target) {
        int identity = System.identityHashCode(target);
        Owned owned = find(target, identity);
        if (owned == null) {
            if (size >= byHandle.length) {
                resize(2 * byHandle.length);
            }
            owned = new Owned(target, ++last, identity);
            link(owned);
            size++;
        }
        return owned;
    }

    void remove(Owned owned) {
        int slot = slot(owned.handle, byHandle.length);
        if (byHandle[slot] == owned) {
            byHandle[slot] = owned.nextByHandle;
        } else {
            Owned before = byHandle[slot];
            while (before.nextByHandle != owned) {
                before = before.nextByHandle;
            }
            before.nextByHandle = owned.nextByHandle;
        }
        slot = slot(owned.identity, byIdentity.length);
        if (byIdentity[slot] == owned) {
            byIdentity[slot] = owned.nextByIdentity;
        } else {
            Owned before = byIdentity[slot];
            while (before.nextByIdentity != owned) {
                before = before.nextByIdentity;
            }
            before.nextByIdentity = owned.nextByIdentity;
        }
        size--;
        // What a burst needed is given back once it is over.
        if (size < byHandle.length / 8 && byHandle.length > 16 * SMALLEST) {
            resize(byHandle.length / 4);
        }
    }

    private void link(Owned owned) {
        int slot = slot(owned.handle, byHandle.length);
        owned.nextByHandle = byHandle[slot];
        byHandle[slot] = owned;
        slot = slot(owned.identity, byIdentity.length);
        owned.nextByIdentity = byIdentity[slot];
        byIdentity[slot] = owned;
    }

    private void resize(int length) {
        Owned[] old = byHandle;
        byHandle = new Owned[length];
        byIdentity = new Owned[length];
        for (Owned each : old) {
            while (each != null) {
                Owned next = each.nextByHandle;
                link(each);
                each = next;
            }
        }
    }

    /** Handles are given out one after the other and identities are random: their low bits spread well. */
    private static int slot(long number, int length) {
        return (int) number & length - 1;
    }

    int size() {
        return size;
    }

    void clear() {
        byHandle = new Owned[SMALLEST];
        byIdentity = new Owned[SMALLEST];
        size = 0;
    }
}
