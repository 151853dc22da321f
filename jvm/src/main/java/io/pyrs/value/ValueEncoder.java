package io.pyrs.value;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.msgpack.core.MessagePacker;

/**
 * Writes Java values as the bytes of the value table (docs/values.md).
 *
 * <p>A value is written completely inside {@link #encode}: nothing mutable is read afterwards, so a Publisher may reuse
 * its buffers. Not thread-safe: one belongs to one stream.
 */
public final class ValueEncoder {
    private final References references;
    private final Conversion conversion;
    private long[] owned = new long[4];
    private int ownedCount;
    private final List<Runnable> releases;
    private RuntimeException failure;
    private boolean tooDeep;
    private int deepest;

    /** An encoder that takes nothing from the caller but the values. */
    public ValueEncoder(References references, Conversion conversion) {
        this(references, conversion, false);
    }

    /**
     * An encoder of values that its caller was given.
     *
     * @param receives whether reference-counted values are released here, as the receiver of a stream's elements has to
     */
    public ValueEncoder(References references, Conversion conversion, boolean receives) {
        this.references = references;
        this.conversion = conversion;
        this.releases = receives ? new ArrayList<>() : null;
    }

    /**
     * Appends one value. Null is nil here (an argument or a result may be null; an element may not, rule 2.13).
     *
     * @throws ConversionException if it has no form; then the buffer is as it was before, and no handle was given away
     */
    public void encode(Object value, ValueBuffer out) {
        encode(value, out, 0);
    }

    /** The same for a result, where an empty Optional is nil, as it is in a container. */
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
        ownedCount = 0;
        failure = null;
        tooDeep = false;
        deepest = depth + Extensions.MAX_DEPTH;
        boolean written = false;
        try {
            write(value, out, depth);
            if (failure != null) {
                throw failure;
            }
            releaseAll(); // may fail: then the value is not written
            written = true;
        } catch (Throwable error) {
            throw refusal(value, error);
        } finally {
            if (!written) {
                out.truncate(mark);
                for (int i = 0; i < ownedCount; i++) {
                    references.disown(owned[i]);
                }
                releaseRest();
            }
        }
    }

    /** Whatever a user's getter or iterator throws is a failure of this value alone; only the end of the JVM is not. */
    private static ConversionException refusal(Object value, Throwable error) {
        if (error instanceof ConversionException) {
            return (ConversionException) error;
        } else if (error instanceof VirtualMachineError && !(error instanceof StackOverflowError)) {
            throw (VirtualMachineError) error;
        }
        return new ConversionException("a " + value.getClass().getName() + " cannot travel: " + Errors.describe(error), error);
    }

    /** An element that nobody wants any more: it is read to nowhere, so that what lies in it is released too. */
    public void discard(Object value) {
        if (releases != null) {
            try {
                new ValueEncoder(ValueCopy.unused(), conversion, true).encode(value, new ValueBuffer(256));
            } catch (ConversionException unwanted) {
                // It would have been an error only if somebody had wanted it.
            }
        }
    }

    /** Has a value of the caller's released when all was read. */
    void releaseLater(Object value, Form form) {
        if (releases != null) {
            releases.add(() -> form.release(value));
        }
    }

    private void releaseAll() {
        while (releases != null && !releases.isEmpty()) {
            releases.remove(releases.size() - 1).run();
        }
    }

    /** The same after a failure, which says more than those of the releases. */
    private void releaseRest() {
        while (releases != null && !releases.isEmpty()) {
            try {
                releaseAll();
            } catch (RuntimeException refused) {
                // It is off the list.
            }
        }
    }

    /** Appends an object by reference, whatever it is. */
    public void encodeReference(Object value, ValueBuffer out) {
        ownedCount = 0;
        try {
            writeReference(value, out);
        } catch (IOException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** Appends a value that lies {@code depth} containers deep. */
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
            Scalars.writeString((String) value, packer);
        } else if (type == Double.class) {
            packer.packDouble((Double) value);
        } else if (type == Integer.class) {
            packer.packInt((Integer) value);
        } else if (type == Boolean.class) {
            packer.packBoolean((Boolean) value);
        } else {
            conversion.formOf(type).write(this, value, out, depth);
        }
    }

    /** Appends a value that lies in a container. */
    void writeContent(Object value, ValueBuffer out, int depth) throws IOException {
        try {
            write(value, out, depth);
        } catch (RuntimeException error) {
            fail(error);
        }
    }

    /** What lies in a container failed. A receiver goes on, since what lies behind it is to be released too; the bytes are cut off in the end. */
    void fail(RuntimeException error) {
        if (releases == null) {
            throw error;
        }
        if (failure == null) {
            failure = error;
        }
    }

    /** Appends a handle: the peer's own object goes home, anything else is exported. */
    void writeReference(Object value, ValueBuffer out) throws IOException {
        long handle = references.home(value);
        byte extension = Extensions.RECEIVER_OWNS;
        int kind;
        if (handle != 0) {
            kind = references.homeKind(value);
        } else {
            kind = references.kindOf(value);
            handle = references.own(value, kind);
            extension = Extensions.SENDER_OWNS;
            if (ownedCount == owned.length) {
                owned = Arrays.copyOf(owned, ownedCount * 2);
            }
            owned[ownedCount++] = handle;
        }
        out.packer.packExtensionTypeHeader(extension, 9);
        out.packer.writePayload(Scalars.bytes(9).put((byte) kind).putLong(handle).array());
    }

    boolean isOfPeer(Object value) {
        return references.home(value) != 0;
    }

    /** The depth of a container's content, refused beyond the limit (which a cyclic container always reaches). */
    int deeper(Object container, int depth) {
        // After one that is too deep no other is entered: a cycle with two ways in has 2^512 of them.
        if (tooDeep || depth >= deepest) {
            tooDeep = true;
            throw new ConversionException("a " + container.getClass().getName() + " contains itself or nests deeper than "
                    + Extensions.MAX_DEPTH + " containers");
        }
        return depth + 1;
    }
}
