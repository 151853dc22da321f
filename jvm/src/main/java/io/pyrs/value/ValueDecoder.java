package io.pyrs.value;

import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.function.LongConsumer;
import org.msgpack.core.ExtensionTypeHeader;
import org.msgpack.core.MessageFormat;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessagePackException;
import org.msgpack.core.MessageUnpacker;
import org.msgpack.core.buffer.ArrayBufferInput;

/**
 * Reads the bytes of the value table (docs/values.md) as Java values.
 *
 * <p>Not thread-safe: one belongs to one stream. Lengths are checked before anything is allocated for them.
 */
public final class ValueDecoder {
    private final References references;
    private final ElementType elementType;
    private final ArrayBufferInput input = new ArrayBufferInput(new byte[0]);
    private final MessageUnpacker unpacker = MessagePack.newDefaultUnpacker(input);
    private byte[] body;
    private int offset;
    private int length;
    private int end; // of the bytes that the unpacker sees, counted from where it began
    private int left;
    private int elementStart;
    private int receipts;
    private int deepest; // containers that an entry may nest

    /** A decoder; {@link ElementType#ANY} or null takes elements as they come. */
    public ValueDecoder(References references, ElementType elementType) {
        this.references = references;
        this.elementType = elementType == null ? ElementType.ANY : elementType;
    }

    /**
     * Opens a NEXT body.
     *
     * @return the number of elements, each to be fetched with {@link #next}
     * @throws MalformedValueException if the bytes are no msgpack array
     */
    public int beginBatch(byte[] body, int offset, int length) {
        return begin(body, offset, length, Extensions.MAX_DEPTH);
    }

    /**
     * Opens the body of a control frame, an array like a NEXT body.
     *
     * @param ownDepth the containers around a value that belong to the frame, such as the list of a CALL's arguments
     * @return the number of entries, each to be fetched with {@link #next}
     * @throws MalformedValueException if the bytes are no msgpack array
     */
    public int beginFrame(byte[] body, int ownDepth) {
        return begin(body, 0, body.length, Extensions.MAX_DEPTH + ownDepth);
    }

    private int begin(byte[] body, int offset, int length, int depth) {
        open(body, offset, length);
        deepest = depth;
        try {
            left = count(unpacker.unpackArrayHeader(), 1);
        } catch (IOException | MessagePackException e) {
            throw new MalformedValueException("a batch that is no msgpack array", e);
        }
        elementStart = position();
        return left;
    }

    /**
     * The next element of the batch, as the element type wants it.
     *
     * @throws ConversionException if it has no form in Java; the batch is over then, see {@link #releaseRest}
     * @throws MalformedValueException if the bytes are no value of the table
     */
    public Object next() {
        if (left == 0) {
            throw new MalformedValueException("no element is left in the batch");
        }
        Object value = readValue();
        left--;
        elementStart = position();
        receipts = 0;
        if (left == 0 && elementStart != length) {
            throw new MalformedValueException("bytes after the last element of a batch");
        }
        try {
            return elementType.from(value);
        } catch (Throwable error) {
            throw noForm(error);
        }
    }

    /** The handles in a NEXT body whose owner is the one who reads it, once for each time they stand there. */
    public static long[] homeHandles(byte[] body) {
        List<Long> found = new ArrayList<>();
        try (MessageUnpacker walker = MessagePack.newDefaultUnpacker(body)) {
            while (walker.hasNext()) {
                switch (walker.getNextFormat().getValueType()) {
                    case ARRAY:
                        walker.unpackArrayHeader();
                        break;
                    case MAP:
                        walker.unpackMapHeader();
                        break;
                    case EXTENSION:
                        ExtensionTypeHeader header = walker.unpackExtensionTypeHeader();
                        // The content of a set is one array, which lies next in the bytes.
                        if (header.getType() != Extensions.SET) {
                            byte[] payload = walker.readPayload(header.getLength());
                            if (header.getType() == Extensions.RECEIVER_OWNS && payload.length == 9) {
                                found.add(ByteBuffer.wrap(payload).getLong(1));
                            }
                        }
                        break;
                    default:
                        walker.skipValue();
                }
            }
        } catch (IOException | RuntimeException malformed) {
            // Whoever decodes the batch says so.
        }
        return found.stream().mapToLong(Long::longValue).toArray();
    }

    /** One value that is no element (a call's arguments, a result, options): the element type is not applied. */
    public Object decode(byte[] body, int offset, int length) {
        open(body, offset, length);
        Object value = readValue();
        if (position() != length) {
            throw new MalformedValueException("bytes after the value");
        }
        return value;
    }

    /** The same for a whole array. */
    public Object decode(byte[] body) {
        return decode(body, 0, body.length);
    }

    /**
     * Gives up what is left of the batch: tells {@code release} every handle of the peer in it that has not become a
     * stand-in, once for each receipt. After {@link #beginBatch} alone that is a whole frame that is dropped.
     */
    public void releaseRest(LongConsumer release) {
        if (left == 0) {
            return;
        }
        int received = receipts;
        long pending = left;
        left = 0;
        try {
            input.reset(body, offset + elementStart, length - elementStart);
            unpacker.reset(input);
            end = length - elementStart;
            for (; pending > 0; pending--) {
                switch (unpacker.getNextFormat().getValueType()) {
                    case ARRAY:
                        pending += unpacker.unpackArrayHeader();
                        break;
                    case MAP:
                        pending += 2L * unpacker.unpackMapHeader();
                        break;
                    case EXTENSION:
                        ExtensionTypeHeader header = unpacker.unpackExtensionTypeHeader();
                        if (header.getType() == Extensions.SET) {
                            pending++; // its content is one array, which lies next in the bytes
                        } else {
                            byte[] payload = payload(header.getLength());
                            if (header.getType() == Extensions.SENDER_OWNS && payload.length == 9 && received-- <= 0) {
                                release.accept(ByteBuffer.wrap(payload).getLong(1));
                            }
                        }
                        break;
                    default:
                        unpacker.skipValue();
                }
            }
        } catch (IOException | MessagePackException e) {
            throw new MalformedValueException("a batch whose elements are no values", e);
        }
    }

    private void open(byte[] newBody, int newOffset, int newLength) {
        body = newBody;
        offset = newOffset;
        length = newLength;
        end = newLength;
        left = 0;
        receipts = 0;
        deepest = Extensions.MAX_DEPTH;
        input.reset(newBody, newOffset, newLength);
        try {
            unpacker.reset(input);
        } catch (IOException impossible) {
            throw new MalformedValueException("the bytes cannot be read", impossible);
        }
    }

    private Object readValue() {
        try {
            return read(0);
        } catch (IOException | MessagePackException e) {
            throw new MalformedValueException("the bytes are no value: " + e, e);
        } catch (Throwable error) {
            throw noForm(error);
        }
    }

    /** Anything but malformed bytes is a failure of the value: also what hashCode and equals of a user's object throw. */
    private static RuntimeException noForm(Throwable error) {
        return error instanceof MalformedValueException || error instanceof ConversionException
                ? (RuntimeException) error
                : new ConversionException("a value has no form in Java: " + Errors.describe(error), error);
    }

    private Object read(int depth) throws IOException {
        MessageFormat format = unpacker.getNextFormat();
        switch (format.getValueType()) {
            case INTEGER:
                if (format == MessageFormat.UINT64) {
                    BigInteger whole = unpacker.unpackBigInteger();
                    return whole.bitLength() < 64 ? (Object) whole.longValue() : whole;
                }
                return unpacker.unpackLong();
            case STRING:
                return readString();
            case FLOAT:
                return unpacker.unpackDouble();
            case BOOLEAN:
                return unpacker.unpackBoolean();
            case NIL:
                unpacker.unpackNil();
                return null;
            case BINARY:
                return payload(unpacker.unpackBinaryHeader());
            case ARRAY:
                int size = count(unpacker.unpackArrayHeader(), 1);
                return fill(new ArrayList<>(size), size, deeper(depth));
            case MAP:
                return readMap(count(unpacker.unpackMapHeader(), 2), deeper(depth));
            default:
                return readExtension(unpacker.unpackExtensionTypeHeader(), depth);
        }
    }

    private Object readExtension(ExtensionTypeHeader header, int depth) throws IOException {
        byte type = header.getType();
        if (type == Extensions.SET) {
            int end = position() + header.getLength();
            int size = count(unpacker.unpackArrayHeader(), 1);
            Object set = fill(new LinkedHashSet<>(size * 4 / 3 + 1), size, deeper(depth));
            if (position() != end) {
                throw new MalformedValueException("a set whose length is not its content's");
            }
            return set;
        }
        byte[] payload = payload(header.getLength());
        if (type != Extensions.SENDER_OWNS && type != Extensions.RECEIVER_OWNS) {
            return ExtensionValues.read(type, payload);
        }
        if (payload.length != 9) {
            throw new MalformedValueException("a reference of " + payload.length + " bytes");
        }
        long handle = ByteBuffer.wrap(payload).getLong(1);
        if (type == Extensions.RECEIVER_OWNS) {
            return references.local(handle);
        }
        receipts++;
        return references.remote(payload[0], handle);
    }

    /**
     * A malformed sequence comes out as U+FFFD; only a string that holds one (which is rare, and may be meant) is read
     * again strictly.
     */
    private String readString() throws IOException {
        int start = offset + position();
        String text = unpacker.unpackString();
        if (text.indexOf('\uFFFD') >= 0) {
            ByteBuffer raw = ByteBuffer.wrap(body, start, offset + position() - start);
            int first = raw.get() & 0xff;
            raw.position(raw.position() + (first == 0xd9 ? 1 : first == 0xda ? 2 : first == 0xdb ? 4 : 0));
            try {
                StandardCharsets.UTF_8.newDecoder().decode(raw);
            } catch (CharacterCodingException e) {
                throw new MalformedValueException("a str that is not UTF-8", e);
            }
        }
        return text;
    }

    private Collection<Object> fill(Collection<Object> target, int size, int depth) throws IOException {
        for (int i = 0; i < size; i++) {
            target.add(read(depth));
        }
        return target;
    }

    private Map<Object, Object> readMap(int size, int depth) throws IOException {
        Map<Object, Object> map = new LinkedHashMap<>(size * 4 / 3 + 1);
        for (int i = 0; i < size; i++) {
            Object key = read(depth);
            if (key instanceof Collection || key instanceof Map) {
                throw new ConversionException("a dict with a " + ElementType.pythonName(key)
                        + " (or tuple) as a key has no form in Java: keys are scalars");
            }
            map.put(key, read(depth));
        }
        return map;
    }

    private byte[] payload(int size) throws IOException {
        return unpacker.readPayload(count(size, 1));
    }

    /** A length that the remaining bytes can hold, or the bytes are malformed: checked before the allocation. */
    private int count(int size, int bytesEach) {
        int unread = end - position();
        if ((long) size * bytesEach > unread) {
            throw new MalformedValueException("a length of " + size + " where " + unread + " bytes are left");
        }
        return size;
    }

    private int position() {
        return (int) unpacker.getTotalReadBytes();
    }

    private int deeper(int depth) {
        if (depth >= deepest) {
            throw new ConversionException(
                    "a value that nests deeper than " + Extensions.MAX_DEPTH + " containers has no form in Java");
        }
        return depth + 1;
    }
}
