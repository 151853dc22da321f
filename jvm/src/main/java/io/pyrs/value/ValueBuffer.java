package io.pyrs.value;

import io.pyrs.Limits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessagePacker;
import org.msgpack.core.buffer.MessageBuffer;
import org.msgpack.core.buffer.MessageBufferOutput;

/**
 * A growing heap buffer to which a {@link ValueEncoder} appends values.
 *
 * <p>Not thread-safe; a stream has its own.
 */
public final class ValueBuffer {
    private static final int LARGEST_KEPT = 1 << 20;
    private static final int LARGEST_HEADER = 5;
    /** The bytes of the largest message without the header of the array that {@link #take(int, int)} adds. */
    private static final int LARGEST_CONTENT = Limits.of("message.bytes") - LARGEST_HEADER;

    private final Output output;
    private final int smallestAttached;
    /** The last bytes, which are not copied; null if there are none. */
    private ByteBuffer tail;

    final MessagePacker packer;
    private long base;

    public ValueBuffer() {
        this(1024);
    }

    public ValueBuffer(int capacity) {
        this(capacity, Integer.MAX_VALUE);
    }

    /**
     * Creates a buffer that does not copy an element of at least {@code smallestAttached} constant bytes, such as an
     * {@link ArrowBatch}. The caller must take the values after such an element: no value can follow it.
     */
    public ValueBuffer(int capacity, int smallestAttached) {
        this.smallestAttached = smallestAttached;
        output = new Output(capacity);
        packer = MessagePack.newDefaultPacker(output);
    }

    /** Returns the number of bytes written since the last take or reset. */
    public int size() {
        return (int) (packer.getTotalWrittenBytes() - base) + tailSize();
    }

    private int tailSize() {
        return tail == null ? 0 : tail.remaining();
    }

    /** Discards the written bytes. */
    public void reset() {
        truncate(0);
        output.shrink();
    }

    /**
     * Removes and returns the last bytes if they were not copied, else null. In the message, they follow the bytes that
     * the next {@link #take} returns. They must not be changed.
     */
    public ByteBuffer takeTail() {
        ByteBuffer taken = tail;
        tail = null;
        return taken;
    }

    /** Appends the content of an array-backed buffer, which must not change afterwards. */
    void writeConstant(ByteBuffer content, int depth) throws IOException {
        int size = content.remaining();
        if (depth > 0 || size < smallestAttached) {
            packer.writePayload(content.array(), content.arrayOffset() + content.position(), size);
        } else {
            output.check((long) size() + size);
            tail = content;
        }
    }

    /** Removes and returns the bytes of the values. */
    public byte[] take() {
        return take(0, -1);
    }

    /** Removes and returns the {@code count} values as the body of a NEXT frame: one array. */
    public byte[] takeBatch(int count) {
        return take(0, count);
    }

    /**
     * Removes and returns the values after {@code headroom} zero bytes, where a frame's header fits without another
     * copy.
     *
     * @param count the number of values for an array header, or -1 for no header
     */
    public byte[] take(int headroom, int count) {
        flush();
        int header = count < 0 ? 0 : count < 16 ? 1 : count < 65536 ? 3 : LARGEST_HEADER;
        byte[] body = new byte[headroom + header + output.length + tailSize()];
        ByteBuffer whole = ByteBuffer.wrap(body).position(headroom);
        if (header == 1) {
            whole.put((byte) (0x90 | count));
        } else if (header == 3) {
            whole.put((byte) 0xdc).putShort((short) count);
        } else if (header == LARGEST_HEADER) {
            whole.put((byte) 0xdd).putInt(count);
        }
        whole.put(output.array, 0, output.length);
        if (tail != null) {
            whole.put(tail);
        }
        reset();
        return body;
    }

    /** Appends the header of an array; the caller encodes its {@code count} elements next. */
    public void addArrayHeader(int count) {
        try {
            packer.packArrayHeader(count);
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
    }

    /** Removes all bytes after the first {@code size}, such as those of an element that failed half-way. */
    void truncate(int size) {
        flush();
        tail = null;
        output.length = size;
        base = packer.getTotalWrittenBytes() - size;
    }

    /** Appends the bytes of another buffer. */
    void append(ValueBuffer other) throws IOException {
        other.flush();
        packer.writePayload(other.output.array, 0, other.output.length);
    }

    private void flush() {
        try {
            packer.flush();
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
    }

    /** The output of the packer, which writes directly into the array. */
    private static final class Output implements MessageBufferOutput {
        private byte[] array;
        private int length;

        private Output(int capacity) {
            array = new byte[Math.max(64, capacity)];
        }

        private void ensure(long more) {
            long needed = length + more;
            check(needed);
            if (needed > array.length) {
                array = Arrays.copyOf(array, (int) Math.min(LARGEST_CONTENT, Math.max(needed, 2L * array.length)));
            }
        }

        private void check(long size) {
            if (size > LARGEST_CONTENT) {
                throw new ConversionException("a value of more than 1 GiB cannot be sent");
            }
        }

        private void shrink() {
            if (array.length > LARGEST_KEPT) {
                array = new byte[1024];
            }
        }

        @Override
        public MessageBuffer next(int minimumSize) {
            ensure(minimumSize + 1L);
            return MessageBuffer.wrap(array, length, array.length - length);
        }

        @Override
        public void writeBuffer(int written) {
            length += written;
        }

        @Override
        public void write(byte[] source, int offset, int count) {
            ensure(count);
            System.arraycopy(source, offset, array, length, count);
            length += count;
        }

        @Override
        public void add(byte[] source, int offset, int count) {
            write(source, offset, count);
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }
}
