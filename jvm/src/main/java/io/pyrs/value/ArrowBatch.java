package io.pyrs.value;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * A record batch as the bytes of an Arrow IPC stream: the schema and one batch.
 *
 * <p>What a pyarrow RecordBatch is in Java. Arrow's own classes are not needed to receive one or pass it on; with them,
 * {@code new ArrowStreamReader(batch.openStream(), allocator)} reads it.
 */
public final class ArrowBatch {
    private final byte[] content;

    /** Takes the bytes of an Arrow IPC stream; they are copied. */
    public ArrowBatch(byte[] stream) {
        this(stream, stream.length);
    }

    ArrowBatch(byte[] stream, int length) {
        content = Arrays.copyOf(stream, length);
    }

    /** The bytes of the IPC stream, as a copy. */
    public byte[] toBytes() {
        return content.clone();
    }

    /** The bytes of the IPC stream, read-only and not copied. */
    public ByteBuffer buffer() {
        return ByteBuffer.wrap(content).asReadOnlyBuffer();
    }

    /** The IPC stream from its beginning, not copied. */
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
