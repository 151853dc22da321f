package io.pyrs.value;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * A record batch as the bytes of an Arrow IPC stream, which holds the schema and one batch.
 *
 * <p>A pyarrow RecordBatch arrives in Java as an ArrowBatch. Receiving and forwarding one does not require Arrow;
 * {@code new ArrowStreamReader(batch.openStream(), allocator)} reads it.
 */
public final class ArrowBatch {
    private final byte[] content;
    private final int offset;
    private final int length;

    /** Creates a batch from a copy of the bytes of an Arrow IPC stream. */
    public ArrowBatch(byte[] stream) {
        this(stream.clone(), 0, stream.length);
    }

    /** Creates a batch from bytes without a copy. They must not change afterwards. */
    ArrowBatch(byte[] content, int offset, int length) {
        this.content = content;
        this.offset = offset;
        this.length = length;
    }

    /** Returns a copy of the bytes of the IPC stream. */
    public byte[] toBytes() {
        return Arrays.copyOfRange(content, offset, offset + length);
    }

    /** Returns a read-only view of the bytes of the IPC stream. */
    public ByteBuffer buffer() {
        return view().asReadOnlyBuffer();
    }

    /** Opens the IPC stream at its beginning, without a copy. */
    public InputStream openStream() {
        return new ByteArrayInputStream(content, offset, length);
    }

    /** Returns the bytes of the IPC stream, which must not be changed. */
    ByteBuffer view() {
        return ByteBuffer.wrap(content, offset, length).slice();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ArrowBatch && view().equals(((ArrowBatch) other).view());
    }

    @Override
    public int hashCode() {
        return view().hashCode();
    }

    @Override
    public String toString() {
        return "ArrowBatch[" + length + " bytes]";
    }
}
