package io.pyrs.link.session;

import java.util.function.Consumer;

/**
 * A hash table of exported local objects by handle and by identity.
 *
 * <p>Each entry is in a chain by handle and in a chain by identity, and no key is boxed. A reference that crosses the
 * link and returns therefore costs one allocation.
 */
final class ExportTable {
    /** A local object, and the receipts of its handle that the peer has not returned. */
    static final class Owned {
        final Object target;
        final long handle;
        private final int identity;
        private Owned nextByHandle;
        private Owned nextByIdentity;
        /** The number of receipts and pins. */
        long count;
        /** The number of pins by received batches that contain the object. {@link #count} includes them. */
        long pins;

        /** Whether the object, a Subscriber, has accepted its subscription (rules 2.5, 2.12). */
        boolean claimed;

        /** The box types of the integers that the object, a Publisher, emits; null if they are not recorded. */
        IntegerBoxing boxes;

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

    /** Returns the entry of a handle, null if there is none. */
    Owned find(long handle) {
        Owned owned = byHandle[slot(handle, byHandle.length)];
        while (owned != null && owned.handle != handle) {
            owned = owned.nextByHandle;
        }
        return owned;
    }

    /** Returns the entry of an object, null if there is none. */
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

    /** Returns the entry of an object, a new one if there is none. */
    Owned findOrAdd(Object target) {
        int identity = System.identityHashCode(target);
        Owned owned = find(target, identity);
        if (owned == null) {
            if (size >= byHandle.length) {
                resize(2 * byHandle.length);
            }
            owned = new Owned(target, unused(), identity);
            link(owned);
            size++;
        }
        return owned;
    }

    /** Returns a handle that no entry has or will have. */
    long unused() {
        return ++last;
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
        // The table shrinks after a burst.
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

    /** Returns the low bits, which are well distributed: handles are sequential, and identity hashes random. */
    private static int slot(long number, int length) {
        return (int) number & length - 1;
    }

    void forEach(Consumer<Object> action) {
        for (Owned owned : byHandle) {
            for (Owned each = owned; each != null; each = each.nextByHandle) {
                action.accept(each.target);
            }
        }
    }

    int size() {
        return size;
    }

    /** Removes all entries except those of objects in received batches. */
    void clear() {
        Owned[] before = byHandle;
        byHandle = new Owned[SMALLEST];
        byIdentity = new Owned[SMALLEST];
        size = 0;
        for (Owned each : before) {
            while (each != null) {
                Owned next = each.nextByHandle;
                if (each.pins > 0) {
                    each.count = each.pins;
                    link(each);
                    size++;
                }
                each = next;
            }
        }
    }
}
