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
 * Numbers for objects: ours that the peer refers to, and the stand-ins of the peer's.
 *
 * <p>Everything is short work under a lock; no user code runs there. A Cleaner notes what is to be given back, the writer thread sends it.
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

    /** The stand-in of one of the peer's objects, and how often the handle was received for it. */
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

    // Ours.

    @Override
    public synchronized long own(Object value, int kind) {
        if (closed) {
            return 1; // nobody will ask for it
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

    /** The same, null where there is none. */
    synchronized Object find(long handle) {
        Owned owned = table.find(handle);
        return owned == null ? null : owned.target;
    }

    static IllegalStateException missing(long handle) {
        return new IllegalStateException("handle " + handle + " is not there: it was never sent or was given back already");
    }

    /** Keeps objects that are on their way home until their batch was read: RELEASE may overtake the reading. Ends with {@link #released}. */
    synchronized void pin(long[] handles) {
        for (long handle : handles) {
            Owned owned = table.find(handle);
            if (owned != null) {
                owned.count++;
            }
        }
    }

    /** The Subscriber of a handle, once: it takes one subscription (rules 2.5, 2.12). Null if it had one, or is not there. */
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

    /** What is known of the boxes of the integers that an exported Publisher emits; null if nobody asked to know. */
    synchronized Boxes boxesOf(long handle) {
        Owned owned = table.find(handle);
        return owned == null ? null : owned.boxes;
    }

    /** Has the boxes of an exported Publisher's integers noted from now on. */
    synchronized Boxes noteBoxes(Object publisher) {
        Owned owned = table.find(publisher);
        if (owned == null) {
            return null;
        }
        if (owned.boxes == null) {
            owned.boxes = new Boxes();
        }
        return owned.boxes;
    }

    /** The peer gives back {@code count} receipts. Unknown handles are ignored: the link may be ending. */
    synchronized void released(long handle, long count) {
        Owned owned = table.find(handle);
        if (owned != null && (owned.count -= count) <= 0) {
            table.remove(owned);
        }
    }

    /** A RELEASE's body: entries of a handle and a count. */
    synchronized void released(ByteBuffer entries) {
        while (entries.hasRemaining()) {
            released(entries.getLong(), entries.getInt() & 0xffffffffL);
        }
    }

    // The peer's.

    @Override
    public long home(Object value) {
        Reference reference = referenceOf(value);
        return reference != null && reference.owner == this ? reference.handle() : 0;
    }

    @Override
    public int homeKind(Object value) {
        return referenceOf(value).kind();
    }

    /** Our own classes stand in by themselves; a java.lang.reflect.Proxy of any interface does so by its handler. */
    private static Reference referenceOf(Object value) {
        Object standIn = value instanceof Proxy ? Proxy.getInvocationHandler(value) : value;
        return standIn instanceof StandIn ? ((StandIn) standIn).reference() : null;
    }

    /** The one stand-in of a handle while anybody holds it. */
    @Override
    public synchronized Object remote(int kind, long handle) {
        if (closed) {
            return standIns.apply(new Reference(this, kind, handle)); // there is nobody to give it back to
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

    /** A receipt for a stand-in that is not the common one: it differs in options. */
    Reference receipt(int kind, long handle) {
        Reference reference = new Reference(this, kind, handle);
        CLEANER.register(reference, () -> giveBack(handle, 1)); // does nothing once the link is over
        return reference;
    }

    private synchronized void gone(Held lost) {
        held.remove(lost.handle, lost);
        giveBack(lost.handle, lost.receipts);
    }

    /** Notes receipts to be given back; does no I/O. */
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

    /** How many entries wait to be given back. */
    int waiting() {
        return waiting;
    }

    /** RELEASE frames for everything that was noted since. */
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

    /** Forgets everything: the link is over. */
    synchronized void close() {
        closed = true;
        table.clear();
        held.clear();
        givenBack.clear();
        waiting = 0;
    }
}
