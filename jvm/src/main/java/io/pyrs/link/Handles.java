package io.pyrs.link;

import io.pyrs.link.OwnedTable.Owned;
import io.pyrs.value.References;
import java.lang.ref.Cleaner;
import java.lang.ref.WeakReference;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * The handle tables of a session: local objects that the peer references, and the mirrors of the peer's objects.
 *
 * <p>The lock is held briefly, and no user code runs under it. A Cleaner records the handles of unreachable mirrors, and
 * the writer thread sends their RELEASE.
 */
final class Handles implements References {
    static final int OBJECT = 0;
    static final int PUBLISHER = 1;
    static final int SUBSCRIBER = 2;
    static final int PROCESSOR = 3;
    private static final Cleaner CLEANER = Cleaner.create(body -> {
        Thread thread = new Thread(body, "pyrs-cleaner");
        thread.setDaemon(true);
        return thread;
    });
    private static final int ENTRY = 12;
    private static final int FRAME_ENTRIES = 4_096;

    /** The mirror of an object of the peer, and how often its handle was received. */
    private static final class Held {
        final long handle;
        final WeakReference<Object> standIn;
        long receipts = 1;

        Held(long handle, Object standIn) {
            this.handle = handle;
            this.standIn = new WeakReference<>(standIn);
        }
    }

    private final Function<Reference, Object> standIns;
    private final OwnedTable table = new OwnedTable();
    private final Map<Long, Held> held = new HashMap<>();
    private ByteBuffer givenBack = ByteBuffer.allocate(64 * ENTRY);
    private volatile int waiting;
    private boolean closed;

    Handles(Function<Reference, Object> standIns) {
        this.standIns = standIns;
    }

    // Local objects.

    @Override
    public synchronized long own(Object value, int kind) {
        if (closed) {
            return 1; // the link is closed, so the handle is never used
        }
        Owned owned = table.findOrAdd(value);
        owned.count++;
        return owned.handle;
    }

    @Override
    public void disown(long handle) {
        released(handle, 1);
    }

    @Override
    public int kindOf(Object value) {
        return Families.kindOf(value);
    }

    @Override
    public synchronized Object local(long handle) {
        Owned owned = table.find(handle);
        if (owned == null) {
            throw missing(handle);
        }
        return owned.target;
    }

    /** Like {@link #local}, but returns null for an unknown handle. */
    synchronized Object find(long handle) {
        Owned owned = table.find(handle);
        return owned == null ? null : owned.target;
    }

    static IllegalStateException missing(long handle) {
        return new IllegalStateException("handle " + handle + " is not there: it was never sent, or it was released");
    }

    /** Keeps local objects in a received batch until it is decoded, since a RELEASE may be processed before. */
    synchronized void pin(long[] handles) {
        for (long handle : handles) {
            Owned owned = table.find(handle);
            if (owned != null) {
                owned.count++;
            }
        }
    }

    /** Returns the Subscriber of a handle for its only subscription (rules 2.5, 2.12), null if there is none left. */
    synchronized Object claimSubscriber(long handle) {
        Owned owned = table.find(handle);
        if (owned == null || owned.claimed) {
            return null;
        }
        int kind = Families.kindOf(owned.target);
        if (kind != SUBSCRIBER && kind != PROCESSOR) {
            return null;
        }
        owned.claimed = true;
        return owned.target;
    }

    /** Returns the recorder of the integers that an exported Publisher emits, null if they are not recorded. */
    synchronized Boxes boxesOf(long handle) {
        Owned owned = table.find(handle);
        return owned == null ? null : owned.boxes;
    }

    /** Records the box type of the integers that an exported Publisher emits from now on. */
    synchronized Boxes recordBoxes(Object publisher) {
        Owned owned = table.find(publisher);
        if (owned == null) {
            return null;
        }
        if (owned.boxes == null) {
            owned.boxes = new Boxes();
        }
        return owned.boxes;
    }

    /** Subtracts {@code count} transfers of a handle. Unknown handles are ignored. */
    synchronized void released(long handle, long count) {
        Owned owned = table.find(handle);
        if (owned != null && (owned.count -= count) <= 0) {
            table.remove(owned);
        }
    }

    /** Processes the body of a RELEASE: entries of a handle and a count. */
    synchronized void released(ByteBuffer entries) {
        while (entries.hasRemaining()) {
            released(entries.getLong(), entries.getInt() & 0xffffffffL);
        }
    }

    // Objects of the peer.

    @Override
    public long home(Object value) {
        Reference reference = referenceOf(value);
        return reference != null && reference.owner == this ? reference.handle() : 0;
    }

    @Override
    public int homeKind(Object value) {
        return referenceOf(value).kind();
    }

    /** Returns the reference of a mirror, which may be the handler of a java.lang.reflect.Proxy. */
    private static Reference referenceOf(Object value) {
        Object standIn = value instanceof Proxy ? Proxy.getInvocationHandler(value) : value;
        return standIn instanceof StandIn ? ((StandIn) standIn).reference() : null;
    }

    /** Returns the mirror of a handle. There is one at a time, as long as it is reachable. */
    @Override
    public synchronized Object remote(int kind, long handle) {
        if (closed) {
            return standIns.apply(new Reference(this, kind, handle)); // the peer needs no RELEASE after the end of the link
        }
        Held known = held.get(handle);
        Object standIn = known == null ? null : known.standIn.get();
        if (standIn != null) {
            known.receipts++;
            return standIn;
        }
        Reference reference = new Reference(this, kind, handle);
        standIn = standIns.apply(reference);
        Held fresh = new Held(handle, standIn);
        held.put(handle, fresh);
        CLEANER.register(reference, () -> gone(fresh));
        return standIn;
    }

    /** Creates a separate reference, for a mirror with its own options. */
    Reference receipt(int kind, long handle) {
        Reference reference = new Reference(this, kind, handle);
        CLEANER.register(reference, () -> giveBack(handle, 1)); // no effect after the end of the link
        return reference;
    }

    private synchronized void gone(Held lost) {
        held.remove(lost.handle, lost);
        giveBack(lost.handle, lost.receipts);
    }

    /** Records transfers to be released; performs no I/O. */
    synchronized void giveBack(long handle, long receipts) {
        if (closed) {
            return;
        }
        if (givenBack.remaining() < ENTRY) {
            givenBack = ByteBuffer.allocate(givenBack.capacity() * 2).put(givenBack.flip());
        }
        givenBack.putLong(handle).putInt((int) receipts);
        waiting = givenBack.position() / ENTRY;
    }

    /** Returns the number of recorded entries. */
    int waiting() {
        return waiting;
    }

    /** Removes the recorded entries and returns RELEASE frames for them. */
    synchronized List<byte[]> releaseFrames() {
        List<byte[]> frames = new ArrayList<>();
        givenBack.flip();
        while (givenBack.hasRemaining()) {
            byte[] body = new byte[Math.min(givenBack.remaining(), FRAME_ENTRIES * ENTRY)];
            givenBack.get(body);
            frames.add(Frames.frame(FrameType.RELEASE, 0, body));
        }
        givenBack = ByteBuffer.allocate(64 * ENTRY);
        waiting = 0;
        return frames;
    }

    synchronized int ownedCount() {
        return table.size();
    }

    synchronized int heldCount() {
        return held.size();
    }

    /** Clears the tables at the end of the link. */
    synchronized void close() {
        closed = true;
        table.clear();
        held.clear();
        givenBack.clear();
        waiting = 0;
    }
}
