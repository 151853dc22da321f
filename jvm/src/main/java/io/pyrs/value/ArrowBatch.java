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

    /** Creates a batch from a copy of the bytes of an Arrow IPC stream. */
    public ArrowBatch(byte[] stream) {
        this(stream, true);
    }

    /** Without {@code copy}, nobody else may hold the bytes. */
    ArrowBatch(byte[] stream, boolean copy) {
        this.content = copy ? stream.clone() : stream;
    }

    /** Returns a copy of the bytes of the IPC stream. */
    public byte[] toBytes() {
        return content.clone();
    }

    /** Returns a read-only view of the bytes of the IPC stream. */
    public ByteBuffer buffer() {
        return ByteBuffer.wrap(content).asReadOnlyBuffer();
    }

    /** Opens the IPC stream at its beginning, without a copy. */
    public InputStream openStream() {
        return new ByteArrayInputStream(content);
    }

    byte[] content() {
        return content;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ArrowBatch && Arrays.equals(content, ((ArrowBatch) other).content);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(content);
    }

    @Override
    public String toString() {
        return "ArrowBatch[" + content.length + " bytes]";
    }
}
