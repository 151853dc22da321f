package io.pyrs.value;

import io.pyrs.ObjectKind;
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
 * Decodes the bytes of the value table (docs/values.md) to Java values.
 *
 * <p>Not thread-safe; a stream has its own. Lengths are checked before memory is allocated.
 */
public final class ValueDecoder {
    private interface ReferenceVisitor {
        void visit(byte type, long handle);
    }

    private final References references;
    private final ElementType elementType;
    private final ArrayBufferInput input = new ArrayBufferInput(new byte[0]);
    private final MessageUnpacker unpacker = MessagePack.newDefaultUnpacker(input);
    private byte[] body;
    private int end; // the end of the bytes given to the unpacker, relative to their start
    private int left;
    private int elementStart;
    private int receipts;
    private int deepest; // the maximum depth of containers in an entry
    private boolean defers;
    private boolean deferred;

    /** Creates a decoder; an element type of {@link ElementType#ANY} or null leaves elements unchanged. */
    public ValueDecoder(References references, ElementType elementType) {
        this.references = references;
        this.elementType = elementType == null ? ElementType.ANY : elementType;
    }

    /**
     * Opens a NEXT body.
     *
     * @return the number of elements, which {@link #next} returns
     * @throws MalformedValueException if the bytes are not a msgpack array
     */
    public int beginBatch(byte[] body) {
        return begin(body, ExtensionTypes.MAX_DEPTH);
    }

    /**
     * Opens the body of a control frame, an array like a NEXT body. Local objects are decoded as placeholders, so that
     * no method of a user's object runs; see {@link #deferred} and {@link LocalPlaceholder#restored}.
     *
     * @param ownDepth the depth of containers that belong to the frame, such as the list of a CALL's arguments
     * @return the number of entries, which {@link #next} returns
     * @throws MalformedValueException if the bytes are not a msgpack array
     */
    public int beginFrame(byte[] body, int ownDepth) {
        int size = begin(body, ExtensionTypes.MAX_DEPTH + ownDepth);
        defers = true;
        return size;
    }

    /** Returns whether an entry of the frame contains a placeholder. */
    public boolean deferred() {
        return deferred;
    }

    private int begin(byte[] body, int depth) {
        open(body);
        deepest = depth;
        try {
            left = count(unpacker.unpackArrayHeader(), 1);
        } catch (IOException | MessagePackException e) {
            throw new MalformedValueException("a batch that is not a msgpack array", e);
        }
        elementStart = position();
        return left;
    }

    /**
     * Returns the next element of the batch, converted to the element type.
     *
     * @throws ConversionException if it cannot be converted to Java; the caller must then call {@link #releaseRest}
     * @throws MalformedValueException if the bytes are not a value of the table
     */
    public Object next() {
        if (left == 0) {
            throw new MalformedValueException("no element is left in the batch");
        }
        Object value = readValue();
        left--;
        elementStart = position();
        receipts = 0;
        if (left == 0 && elementStart != body.length) {
            throw new MalformedValueException("bytes after the last element of a batch");
        }
        try {
            return elementType.from(value);
        } catch (Throwable error) {
            throw conversionFailure(error);
        }
    }

    /** Returns the handles of local objects in the body of a NEXT, once for each occurrence. */
    public static long[] homeHandles(byte[] body) {
        List<Long> found = new ArrayList<>();
        ValueDecoder decoder = new ValueDecoder(References.NONE, ElementType.ANY);
        try {
            decoder.beginBatch(body);
            decoder.skipRest((type, handle) -> {
                if (type == ExtensionTypes.RECEIVER_OWNS) {
                    found.add(handle);
                }
            });
        } catch (RuntimeException malformed) {
            // Decoding the batch reports the error.
        }
        return found.stream().mapToLong(Long::longValue).toArray();
    }

    /** Decodes one value that is not an element, such as a result, without applying the element type. */
    public Object decode(byte[] body) {
        open(body);
        Object value = readValue();
        if (position() != body.length) {
            throw new MalformedValueException("bytes after the value");
        }
        return value;
    }

    /**
     * Drops the rest of the batch: calls {@code release} with each handle of the peer that was not decoded, once for
     * each occurrence. Called directly after {@link #beginBatch}, it drops the whole frame.
     *
     * @throws MalformedValueException if the rest does not consist of values, or contains an unknown extension type
     */
    public void releaseRest(LongConsumer release) {
        skipRest((type, handle) -> {
            if (type == ExtensionTypes.SENDER_OWNS && receipts-- <= 0) { // the first ones were received
                release.accept(handle);
            }
        });
    }

    /** Skips the rest of the batch, and passes the type and the handle of each reference in it to a visitor. */
    private void skipRest(ReferenceVisitor visitor) {
        if (left == 0) {
            return;
        }
        long pending = left;
        left = 0;
        try {
            end = body.length - elementStart;
            input.reset(body, elementStart, end);
            unpacker.reset(input);
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
                        if (header.getType() == ExtensionTypes.SET) {
                            pending++; // its content is one array, which follows
                        } else {
                            byte[] payload = payload(header.getLength());
                            if (!ExtensionTypes.isKnown(header.getType())) {
                                throw new MalformedValueException("unknown extension type " + header.getType());
                            }
                            if (header.getType() >= ExtensionTypes.SENDER_OWNS && payload.length == 9) {
                                visitor.visit(
                                        header.getType(),
                                        ByteBuffer.wrap(payload).getLong(1));
                            }
                        }
                        break;
                    default:
                        unpacker.skipValue();
                }
            }
            if (position() != end) {
                throw new MalformedValueException("bytes after the last element of a batch");
            }
        } catch (IOException | MessagePackException e) {
            throw new MalformedValueException("a batch whose elements are not values", e);
        }
    }

    private void open(byte[] newBody) {
        body = newBody;
        end = newBody.length;
        left = 0;
        receipts = 0;
        defers = false;
        deferred = false;
        deepest = ExtensionTypes.MAX_DEPTH;
        input.reset(newBody);
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
            throw new MalformedValueException("the bytes are not a value: " + e, e);
        } catch (Throwable error) {
            throw conversionFailure(error);
        }
    }

    /** Converts each error except malformed bytes to a ConversionException, including errors of hashCode and equals. */
    static RuntimeException conversionFailure(Throwable error) {
        return error instanceof MalformedValueException || error instanceof ConversionException
                ? (RuntimeException) error
                : new ConversionException("a value cannot be converted to Java: " + ErrorCodec.describe(error), error);
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
        if (type == ExtensionTypes.SET) {
            int end = position() + header.getLength();
            int size = count(unpacker.unpackArrayHeader(), 1);
            Object set = fill(new LinkedHashSet<>(size * 4 / 3 + 1), size, deeper(depth));
            if (position() != end) {
                throw new MalformedValueException("a set whose length differs from that of its content");
            }
            return set;
        }
        if (type == ExtensionTypes.ARROW && header.getLength() > body.length / 2) {
            int size = count(header.getLength(), 1);
            int start = position();
            unpacker.readPayloadAsReference(size); // skips the payload
            return new ArrowBatch(body, start, size);
        }
        byte[] payload = payload(header.getLength());
        if (type != ExtensionTypes.SENDER_OWNS && type != ExtensionTypes.RECEIVER_OWNS) {
            return ExtensionDecoder.read(type, payload);
        }
        if (payload.length != 9) {
            throw new MalformedValueException("a reference of " + payload.length + " bytes");
        }
        long handle = ByteBuffer.wrap(payload).getLong(1);
        if (type == ExtensionTypes.RECEIVER_OWNS) {
            Object local = references.local(handle);
            deferred |= defers;
            return defers ? new LocalPlaceholder(local) : local;
        }
        if (!ObjectKind.isCode(payload[0])) {
            throw new MalformedValueException("a reference of the unknown kind " + (payload[0] & 0xff));
        }
        receipts++;
        return references.remote(payload[0], handle);
    }

    /**
     * Reads a str. The unpacker replaces a malformed sequence by U+FFFD, so a string that contains one is decoded again
     * strictly.
     */
    private String readString() throws IOException {
        int start = position();
        String text = unpacker.unpackString();
        if (text.indexOf('\uFFFD') >= 0) {
            ByteBuffer raw = ByteBuffer.wrap(body, start, position() - start);
            int first = raw.get() & 0xff;
            raw.position(raw.position() + (first == 0xd9 ? 1 : first == 0xda ? 2 : first == 0xdb ? 4 : 0));
            try {
                StandardCharsets.UTF_8.newDecoder().decode(raw);
            } catch (CharacterCodingException e) {
                throw new MalformedValueException("a str that is not valid UTF-8", e);
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
            Object plain = LocalPlaceholder.targetOf(key);
            if (plain instanceof Collection || plain instanceof Map) {
                String type = plain instanceof ArrayList ? "list or tuple" : ElementType.pythonName(plain);
                throw new ConversionException(
                        "a dict with a " + type + " as a key cannot be converted to Java: its keys must be scalars");
            }
            map.put(key, read(depth));
        }
        return map;
    }

    private byte[] payload(int size) throws IOException {
        return unpacker.readPayload(count(size, 1));
    }

    /** Checks before an allocation that the remaining bytes can hold {@code size} values. */
    private int count(int size, int bytesEach) {
        int unread = end - position();
        if ((long) size * bytesEach > unread) {
            throw new MalformedValueException("a length of " + size + " with " + unread + " bytes left");
        }
        return size;
    }

    private int position() {
        return (int) unpacker.getTotalReadBytes();
    }

    private int deeper(int depth) {
        if (depth >= deepest) {
            throw new ConversionException("a value that nests deeper than " + ExtensionTypes.MAX_DEPTH
                    + " containers cannot be converted to Java");
        }
        return depth + 1;
    }
}
