package io.pyrs.value;

import io.pyrs.PeerReference;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.msgpack.core.MessagePacker;

/**
 * Encodes Java values to the bytes of the value table (docs/values.md).
 *
 * <p>{@link #encode} writes a value completely: nothing mutable is read afterwards, so a Publisher may reuse its
 * buffers. Not thread-safe; a stream has its own.
 */
public class ValueEncoder {
    private final References references;
    private final Conversion conversion;
    private final List<Runnable> releases;
    /** The handles of the local objects in the values. */
    private long[] owned = new long[4];

    private int ownedCount;
    /** The mirrors in the values. */
    private List<Object> mirrors = new ArrayList<>();

    private RuntimeException failure;
    private boolean tooDeep;
    private int deepest;

    /** Creates an encoder that does not release values. */
    public ValueEncoder(References references, Conversion conversion) {
        this(references, conversion, false);
    }

    /**
     * Creates an encoder.
     *
     * @param receives whether to release reference-counted values, as the receiver of a stream's elements must
     */
    public ValueEncoder(References references, Conversion conversion, boolean receives) {
        this.references = references;
        this.conversion = conversion;
        this.releases = receives ? new ArrayList<>() : null;
    }

    /**
     * Appends one value. Null becomes nil, for arguments and results; an element must not be null (rule 2.13).
     *
     * @throws ConversionException if it cannot be converted; the buffer is unchanged then, and no handle is exported
     */
    public void encode(Object value, ValueBuffer out) {
        encode(value, out, 0);
    }

    /** Appends a result like {@link #encode}, but an empty Optional becomes nil, as in a container. */
    public void encodeResult(Object value, ValueBuffer out) {
        encode(value, out, 1);
    }

    private void encode(Object value, ValueBuffer out, int depth) {
        if (value instanceof Long) {
            try {
                out.packer.packLong((Long) value);
            } catch (IOException impossible) {
                throw new IllegalStateException(impossible);
            }
            return;
        }
        int mark = out.size();
        int ownedBefore = ownedCount;
        int mirrorsBefore = mirrors.size();
        failure = null;
        tooDeep = false;
        deepest = depth + ExtensionTypes.MAX_DEPTH;
        boolean written = false;
        try {
            write(value, out, depth);
            if (failure != null) {
                throw failure;
            }
            releaseAll(); // if this fails, the value is not written
            written = true;
        } catch (Throwable error) {
            throw conversionFailure(value, error);
        } finally {
            if (!written) {
                out.truncate(mark);
                while (ownedCount > ownedBefore) {
                    references.disown(owned[--ownedCount]);
                }
                mirrors.subList(mirrorsBefore, mirrors.size()).clear();
                releaseRest();
            }
        }
    }

    /** Converts an error of a user's getter or iterator to a ConversionException, and throws an error of the JVM. */
    private static ConversionException conversionFailure(Object value, Throwable error) {
        if (error instanceof ConversionException) {
            return (ConversionException) error;
        } else if (error instanceof VirtualMachineError && !(error instanceof StackOverflowError)) {
            throw (VirtualMachineError) error;
        }
        return new ConversionException(
                "a " + value.getClass().getName() + " cannot be converted: " + ErrorCodec.describe(error), error);
    }

    /** Drops an element: encodes it to a buffer that is not used, which releases the values inside. */
    public void discard(Object value) {
        if (releases != null) {
            try {
                new ValueEncoder(new ValueCopy.LocalReferences(), conversion, true).encode(value, new ValueBuffer(256));
            } catch (ConversionException unwanted) {
                // The element is dropped anyway.
            }
        }
    }

    /** Schedules the release of a value, such as a pooled buffer, at the end of {@link #encode}. */
    void releaseLater(Runnable release) {
        if (releases != null) {
            releases.add(release);
        }
    }

    private void releaseAll() {
        while (releases != null && !releases.isEmpty()) {
            releases.remove(releases.size() - 1).run();
        }
    }

    /** Releases all values after an error, which has precedence over errors of the releases. */
    private void releaseRest() {
        while (releases != null && !releases.isEmpty()) {
            try {
                releaseAll();
            } catch (RuntimeException refused) {
                // Continue with the others.
            }
        }
    }

    /** Appends any object by reference. */
    public void encodeReference(Object value, ValueBuffer out) {
        try {
            writeReference(value, out);
        } catch (IOException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** Appends a value at a depth of {@code depth} containers. */
    void write(Object value, ValueBuffer out, int depth) throws IOException {
        MessagePacker packer = out.packer;
        if (value == null) {
            packer.packNil();
            return;
        }
        Class<?> type = value.getClass();
        if (type == Long.class) {
            packer.packLong((Long) value);
        } else if (type == String.class) {
            ScalarWriters.writeString((String) value, packer);
        } else if (type == Double.class) {
            packer.packDouble((Double) value);
        } else if (type == Integer.class) {
            packer.packInt((Integer) value);
        } else if (type == Boolean.class) {
            packer.packBoolean((Boolean) value);
        } else {
            conversion.writerOf(type).write(this, value, out, depth);
        }
    }

    /** Appends a value inside a container. */
    void writeContent(Object value, ValueBuffer out, int depth) throws IOException {
        try {
            write(value, out, depth);
        } catch (RuntimeException error) {
            fail(error);
        }
    }

    /**
     * Reports an error inside a container. A receiver continues, to release the values that follow, and fails at the
     * end.
     */
    void fail(RuntimeException error) {
        if (releases == null) {
            throw error;
        }
        if (failure == null) {
            failure = error;
        }
    }

    /** Returns the references in the values since the last call. */
    public SentReferences takeReferences() {
        if (ownedCount == 0 && mirrors.isEmpty()) {
            return SentReferences.NONE;
        }
        SentReferences taken = new SentReferences(Arrays.copyOf(owned, ownedCount), mirrors);
        ownedCount = 0;
        mirrors = new ArrayList<>();
        return taken;
    }

    /** Returns the code of the kind with which a local object is exported. */
    protected int kindCode(Object value) {
        return references.kindCode(value);
    }

    /** Appends a handle: that of the peer for a mirror, else that of the exported object. */
    void writeReference(Object value, ValueBuffer out) throws IOException {
        PeerReference peer = references.peerReference(value);
        int kind;
        long handle;
        if (peer != null) {
            kind = peer.kind().code();
            handle = peer.handle();
            mirrors.add(value);
        } else {
            kind = kindCode(value);
            handle = references.own(value);
            if (ownedCount == owned.length) {
                owned = Arrays.copyOf(owned, ownedCount * 2);
            }
            owned[ownedCount++] = handle;
        }
        byte extension = peer == null ? ExtensionTypes.SENDER_OWNS : ExtensionTypes.RECEIVER_OWNS;
        out.packer.packExtensionTypeHeader(extension, 9);
        out.packer.writePayload(
                ScalarWriters.bytes(9).put((byte) kind).putLong(handle).array());
    }

    boolean sharesMemory() {
        return references.sharesMemory();
    }

    boolean isOfPeer(Object value) {
        return references.peerReference(value) != null;
    }

    /** Returns the depth of a container's content. Throws beyond value.depth, which a cyclic container exceeds. */
    int deeper(Object container, int depth) {
        // No container is entered after the first that is too deep: a list that contains itself twice has 2^512 paths.
        if (tooDeep || depth >= deepest) {
            tooDeep = true;
            throw new ConversionException("a " + container.getClass().getName()
                    + " contains itself or nests deeper than " + ExtensionTypes.MAX_DEPTH + " containers");
        }
        return depth + 1;
    }
}
