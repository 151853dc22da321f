package io.pyrs.link.session;

import io.pyrs.Limits;
import io.pyrs.ObjectKind;
import io.pyrs.PeerProxy;
import io.pyrs.PeerReference;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import io.pyrs.link.session.ExportTable.Owned;
import io.pyrs.value.ConversionException;
import io.pyrs.value.References;
import io.pyrs.value.SharedBatch;
import java.lang.ref.Cleaner;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * The handle tables of a session: local objects that the peer references, and the mirrors of the peer's objects.
 *
 * <p>The lock is held briefly, and no user code runs under it. A Cleaner records the handles of unreachable mirrors,
 * and the writer thread sends their RELEASE.
 */
public final class Handles implements References {
    private static final Cleaner CLEANER = Cleaner.create(body -> {
        Thread thread = new Thread(body, "pyrs-cleaner");
        thread.setDaemon(true);
        return thread;
    });
    private static final int ENTRY = 12;
    private static final int FRAME_ENTRIES = Limits.of("release.entries");
    private static final int MAX_HANDLES = Limits.of("link.handles");

    /** The mirror of an object of the peer, and the number of times that its handle was received. */
    private static final class HeldMirror {
        final long handle;
        final ObjectKind kind;
        final WeakReference<Object> mirror;
        long receipts = 1;

        HeldMirror(PeerReference reference, Object mirror) {
            this.handle = reference.handle();
            this.kind = reference.kind();
            this.mirror = new WeakReference<>(mirror);
        }

        /**
         * Returns whether the mirror has the interfaces of a kind. A Python object without the base class Publisher
         * crosses as a plain object, but {@code to_jvm} accepts it as a Publisher if it has the methods.
         */
        boolean isOf(ObjectKind wanted) {
            return wanted == ObjectKind.OBJECT || wanted == kind || kind == ObjectKind.PROCESSOR;
        }
    }

    private final Function<PeerReference, Object> mirrorFactory;
    private final int maxHandles;
    private final ExportTable table = new ExportTable();
    private final Map<Long, HeldMirror> held = new HashMap<>();
    private ByteBuffer pendingReleases = ByteBuffer.allocate(64 * ENTRY);
    private volatile int pendingCount;
    private boolean closed;
    private volatile boolean sharesMemory;

    public Handles(Function<PeerReference, Object> mirrorFactory) {
        this(mirrorFactory, MAX_HANDLES);
    }

    Handles(Function<PeerReference, Object> mirrorFactory, int maxHandles) {
        this.mirrorFactory = mirrorFactory;
        this.maxHandles = maxHandles;
    }

    // Local objects.

    @Override
    public long own(Object value) {
        long handle = export(value);
        if (handle < 0) {
            SharedBatch.closeIfBatch(value);
            return -handle;
        }
        return handle;
    }

    /**
     * Returns the handle of an object. After the end of the link it is a new number, negated: the peer never sends it
     * back, but uses it to compare the references in an answer that arrives through the gateway.
     */
    private synchronized long export(Object value) {
        if (closed) {
            return -table.unused();
        }
        Owned owned = table.findOrAdd(value);
        if (table.size() > maxHandles) {
            table.remove(owned); // the new entry
            throw new ConversionException("Python refers to " + maxHandles + " objects of the JVM, the limit of a link"
                    + " (link.handles): release some of them in Python, or convert to values instead of references");
        }
        owned.count++;
        return owned.handle;
    }

    @Override
    public void disown(long handle) {
        receiveRelease(handle, 1);
    }

    @Override
    public int kindCode(Object value) {
        return value instanceof SharedBatch
                ? SharedBatch.KIND
                : ObjectKind.of(value).code();
    }

    @Override
    public boolean sharesMemory() {
        return sharesMemory;
    }

    /**
     * Permits record batches to share memory with Python.
     *
     * @throws IllegalArgumentException if {@code pid}, the process of Python, is not the process of this JVM
     */
    public void shareMemory(long pid) {
        if (pid != ProcessHandle.current().pid()) {
            throw new IllegalArgumentException("Python is process " + pid + ", not the process of this JVM");
        }
        sharesMemory = true;
    }

    /** Moves a record batch to the C structs of Python; see {@link SharedBatch#moveTo}. */
    public void moveBatch(long handle, long arrayAddress, long schemaAddress) {
        Object target = local(handle);
        if (!sharesMemory || !(target instanceof SharedBatch)) {
            throw new IllegalArgumentException("handle " + handle + " is not a shared record batch");
        }
        ((SharedBatch) target).moveTo(arrayAddress, schemaAddress);
    }

    @Override
    public Object local(long handle) {
        Object target = find(handle);
        if (target == null) {
            throw missing(handle);
        }
        return target;
    }

    /** Like {@link #local}, but returns null for an unknown handle. */
    synchronized Object find(long handle) {
        Owned owned = table.find(handle);
        return owned == null ? null : owned.target;
    }

    static IllegalStateException missing(long handle) {
        return new IllegalStateException("handle " + handle + " is unknown: it was never sent, or it was released");
    }

    /**
     * Keeps the local objects of a received batch in the table until the batch is decoded. Before that, a RELEASE may
     * be processed, or the link may end.
     */
    synchronized void pin(long[] handles) {
        for (long handle : handles) {
            Owned owned = table.find(handle);
            if (owned != null) {
                owned.count++;
                owned.pins++;
            }
        }
    }

    /** Reverts {@link #pin}. */
    void unpin(long[] handles) {
        for (long handle : handles) {
            SharedBatch.closeIfBatch(subtractPin(handle));
        }
    }

    private synchronized Object subtractPin(long handle) {
        Owned owned = table.find(handle);
        if (owned != null) {
            owned.pins--;
        }
        return subtract(handle, 1);
    }

    /** Returns the Subscriber of a handle; null for later calls (rules 2.5, 2.12), or if there is no Subscriber. */
    synchronized Object claimSubscriber(long handle) {
        Owned owned = table.find(handle);
        if (owned == null || owned.claimed || !ObjectKind.of(owned.target).isSubscriber()) {
            return null;
        }
        owned.claimed = true;
        return owned.target;
    }

    /** Returns the box types of the integers that an exported Publisher emits, or null if they are not recorded. */
    synchronized IntegerBoxing boxesOf(long handle) {
        Owned owned = table.find(handle);
        return owned == null ? null : owned.boxes;
    }

    /** Records the box type of the integers that an exported Publisher emits from now on. */
    synchronized IntegerBoxing recordBoxes(Object publisher) {
        Owned owned = table.find(publisher);
        if (owned == null) {
            return null;
        }
        if (owned.boxes == null) {
            owned.boxes = new IntegerBoxing();
        }
        return owned.boxes;
    }

    /** Subtracts {@code count} from the number of times that a handle was sent. Ignores unknown handles. */
    void receiveRelease(long handle, long count) {
        // The batch is closed outside the lock, since Arrow notifies listeners of the user when it releases memory.
        SharedBatch.closeIfBatch(subtract(handle, count));
    }

    /** Subtracts receipts; returns the object if it was removed, else null. */
    private synchronized Object subtract(long handle, long count) {
        Owned owned = table.find(handle);
        if (owned == null || (owned.count -= count) > 0) {
            return null;
        }
        table.remove(owned);
        return owned.target;
    }

    /** Processes the body of a RELEASE: entries of a handle and a count. */
    void receiveRelease(ByteBuffer entries) {
        while (entries.hasRemaining()) {
            receiveRelease(entries.getLong(), entries.getInt() & 0xffffffffL);
        }
    }

    // Objects of the peer.

    @Override
    public PeerReference peerReference(Object value) {
        PeerReference reference = PeerProxy.referenceOf(value);
        return reference != null && reference.isOf(this) ? reference : null;
    }

    /**
     * Returns the mirror of a handle: the same one as long as it is reachable, then a new one. If this mirror lacks the
     * interfaces of the kind, returns a separate mirror. Elements and arguments still contain the first one, so that
     * Java collections find the object.
     */
    @Override
    public synchronized Object remote(int kindCode, long handle) {
        ObjectKind kind = ObjectKind.ofCode(kindCode);
        if (closed) {
            return mirrorFactory.apply(
                    new PeerReference(this, kind, handle)); // the peer needs no RELEASE after the end of the link
        }
        HeldMirror known = held.get(handle);
        Object mirror = known == null ? null : known.mirror.get();
        if (mirror != null && known.isOf(kind)) {
            known.receipts++;
            return mirror;
        }
        PeerReference reference = new PeerReference(this, kind, handle);
        Object created = mirrorFactory.apply(reference);
        if (mirror == null) {
            HeldMirror fresh = new HeldMirror(reference, created);
            held.put(handle, fresh);
            CLEANER.register(reference, () -> releaseMirror(fresh));
        } else {
            releaseAfter(reference);
        }
        return created;
    }

    /** Creates a separate reference, for a mirror with its own options. */
    public PeerReference receipt(ObjectKind kind, long handle) {
        PeerReference reference = new PeerReference(this, kind, handle);
        releaseAfter(reference);
        return reference;
    }

    /** Releases the handle once when the reference is unreachable. */
    public void releaseAfter(PeerReference reference) {
        long handle = reference.handle();
        CLEANER.register(reference, () -> recordRelease(handle, 1)); // no effect after the end of the link
    }

    private synchronized void releaseMirror(HeldMirror lost) {
        held.remove(lost.handle, lost);
        recordRelease(lost.handle, lost.receipts);
    }

    /** Records for the next RELEASE that a handle was received {@code receipts} times. Performs no I/O. */
    synchronized void recordRelease(long handle, long receipts) {
        if (closed) {
            return;
        }
        if (pendingReleases.remaining() < ENTRY) {
            pendingReleases =
                    ByteBuffer.allocate(pendingReleases.capacity() * 2).put(pendingReleases.flip());
        }
        pendingReleases.putLong(handle).putInt((int) receipts);
        pendingCount = pendingReleases.position() / ENTRY;
    }

    public int pendingReleases() {
        return pendingCount;
    }

    /** Removes the recorded entries and returns RELEASE frames for them. */
    public synchronized List<byte[]> releaseFrames() {
        List<byte[]> frames = new ArrayList<>();
        pendingReleases.flip();
        while (pendingReleases.hasRemaining()) {
            byte[] body = new byte[Math.min(pendingReleases.remaining(), FRAME_ENTRIES * ENTRY)];
            pendingReleases.get(body);
            frames.add(Frames.frame(FrameType.RELEASE, 0, body));
        }
        pendingReleases = ByteBuffer.allocate(64 * ENTRY);
        pendingCount = 0;
        return frames;
    }

    public synchronized int ownedCount() {
        return table.size();
    }

    synchronized int heldCount() {
        return held.size();
    }

    /** Clears the tables at the end of the link, except for pinned objects. */
    void close() {
        clear().forEach(SharedBatch::close);
    }

    /** Clears the tables, and returns the shared record batches that were exported. */
    private synchronized List<SharedBatch> clear() {
        List<SharedBatch> batches = new ArrayList<>();
        if (sharesMemory) {
            table.forEach(target -> {
                if (target instanceof SharedBatch) {
                    batches.add((SharedBatch) target);
                }
            });
        }
        closed = true;
        table.clear();
        held.clear();
        pendingReleases.clear();
        pendingCount = 0;
        return batches;
    }
}
