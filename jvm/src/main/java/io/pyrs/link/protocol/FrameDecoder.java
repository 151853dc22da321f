package io.pyrs.link.protocol;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Decodes the bytes of a connection into complete messages, independent of the boundaries between reads.
 *
 * <p>Lengths are checked before memory is allocated. Memory is bounded by one read and one frame, and by the limits
 * message.unfinished and message.unfinished_mib for fragments. Not thread-safe: the handshake uses it, then the reader.
 */
public final class FrameDecoder {
    private static final String ADVICE =
            " of a link (message.unfinished, message.unfinished_mib): send fewer large values at the same time";

    /** The largest array that is allocated before its bytes arrive. */
    private static final int MAX_ANNOUNCED = 16 << 20;

    private static final byte[] NO_BYTES = {};

    private final int maxUnfinished;
    private final long maxUnfinishedBytes;
    private byte[] buffer = new byte[4096];
    private int start;
    private int end;
    private int maxLength;
    private int unfinished;
    private long unfinishedBytes;
    /** The fragments received so far, by type and id: fragments of different messages may interleave. */
    private final Map<FrameType, Map<Long, Fragments>> fragments = new EnumMap<>(FrameType.class);

    /** The message that receives the rest of the current frame directly, or null. */
    private Fragments inPlace;

    private int inPlaceArrived;
    private int inPlaceMissing;
    private boolean inPlaceMore;
    /** A message that was completed in place. */
    private Frame completed;
    /** The error of malformed bytes after complete messages, which are returned first. */
    private ProtocolException malformed;

    /**
     * The fragments of one message. They are joined once, after the last one: an array that grows would be copied more
     * often. Small fragments share an array, so that they occupy little more memory than their bytes. If the size of the
     * message is announced, its fragments are received into the final array.
     */
    private static final class Fragments {
        private final FrameType type;
        private final long id;
        private final List<byte[]> parts = new ArrayList<>();
        /** The last of the parts, and the space that is left in it. */
        private byte[] last = NO_BYTES;

        private int space;
        private byte[] announced;
        private long size;
        /** The bytes that count towards message.unfinished_mib. */
        private long memory;

        Fragments(FrameType type, long id, int announcedSize) {
            this.type = type;
            this.id = id;
            this.announced = announcedSize == 0 ? null : new byte[announcedSize];
        }

        private void add(byte[] from, int offset, int length) {
            if (announced != null && size + length > announced.length) {
                // The message is longer than announced. The decoder of its value reports the error.
                parts.add(Arrays.copyOf(announced, (int) size));
                announced = null;
            }
            if (announced != null) {
                System.arraycopy(from, offset, announced, (int) size, length);
            } else {
                int fitting = Math.min(length, space);
                append(from, offset, fitting);
                if (fitting < length) {
                    space = Math.max(length - fitting, (int) Math.min(size, Frames.MAX_BODY));
                    last = new byte[space];
                    parts.add(last);
                    append(from, offset + fitting, length - fitting);
                }
            }
            size += length;
        }

        private void append(byte[] from, int offset, int length) {
            System.arraycopy(from, offset, last, last.length - space, length);
            space -= length;
        }

        private byte[] join() {
            if (announced != null) {
                return size == announced.length ? announced : Arrays.copyOf(announced, (int) size);
            }
            byte[] whole = new byte[(int) size];
            int filled = 0;
            for (byte[] part : parts) {
                int used = Math.min(part.length, whole.length - filled);
                System.arraycopy(part, 0, whole, filled, used);
                filled += used;
            }
            return whole;
        }
    }

    public FrameDecoder(int maxLength) {
        this(maxLength, Frames.MAX_UNFINISHED, Frames.MAX_UNFINISHED_BYTES);
    }

    FrameDecoder(int maxLength, int maxUnfinished, long maxUnfinishedBytes) {
        this.maxLength = maxLength;
        this.maxUnfinished = maxUnfinished;
        this.maxUnfinishedBytes = maxUnfinishedBytes;
    }

    public void setMaxLength(int maxLength) {
        this.maxLength = maxLength;
    }

    /** Returns the number of bytes of the incomplete frame. */
    public int pending() {
        return inPlace == null ? end - start : Frames.HEADER + inPlaceArrived;
    }

    /** Drops every message that is not complete. Allocates nothing. The decoder cannot be used any more. */
    public void clear() {
        fragments.clear();
        inPlace = null;
        completed = null;
        buffer = NO_BYTES;
    }

    /**
     * Reads once from a stream: directly into the message that is received in place, or else into the buffer, after
     * making space for at least {@code space} bytes.
     *
     * @return the number of bytes, or -1 at the end of the stream
     * @throws ProtocolException if the bytes after the messages that were returned last are malformed
     */
    public int read(InputStream in, int space) throws IOException {
        if (malformed != null) {
            throw malformed;
        }
        if (inPlace != null) {
            int size = in.read(inPlace.announced, (int) inPlace.size, inPlaceSpace());
            if (size > 0) {
                receivedInPlace(size);
            }
            return size;
        }
        reserve(space);
        int size = in.read(buffer, end, buffer.length - end);
        end += Math.max(size, 0);
        return size;
    }

    /**
     * Appends received bytes and returns the messages that they complete.
     *
     * @throws ProtocolException if the bytes are malformed; if they complete messages before the fault, the next call
     *     throws it
     */
    public List<Frame> feed(byte[] bytes, int offset, int length) {
        List<Frame> messages = new ArrayList<>();
        InputStream in = new ByteArrayInputStream(bytes, offset, length);
        try {
            do {
                read(in, in.available());
                addMessages(messages);
            } while (in.available() > 0 && malformed == null);
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
        return messages;
    }

    /** Returns the number of bytes to receive in place: the rest of the frame, and the header of the next fragment. */
    private int inPlaceSpace() {
        int size = inPlaceMissing + (inPlaceMore ? Frames.HEADER : 0);
        return (int) Math.min(size, inPlace.announced.length - inPlace.size);
    }

    private void receivedInPlace(int size) {
        Fragments message = inPlace;
        int arrived = Math.min(size, inPlaceMissing);
        message.size += arrived;
        inPlaceArrived += arrived;
        inPlaceMissing -= arrived;
        if (inPlaceMissing > 0) {
            return;
        }
        inPlace = null;
        if (!inPlaceMore) {
            completed = finish(message);
        }
        // The read may have included the next header, which goes to the buffer: the buffer is empty while a message is
        // received in place. In the array of the message, the next fragment's body overwrites this header.
        System.arraycopy(message.announced, (int) message.size, buffer, 0, size - arrived);
        start = 0;
        end = size - arrived;
    }

    /** Receives the rest of the incomplete frame directly into its message, if the size of the message is announced. */
    private void continueInPlace(int type, long id, int length) {
        FrameType known = FrameType.ofCode(type & ~Frames.MORE);
        Map<Long, Fragments> ofType = known == null ? null : fragments.get(known);
        Fragments message = ofType == null ? null : ofType.get(id);
        if (message == null || message.announced == null || message.size + length > message.announced.length) {
            return;
        }
        inPlaceArrived = end - start - Frames.HEADER;
        inPlaceMissing = length - inPlaceArrived;
        inPlaceMore = (type & Frames.MORE) != 0;
        message.add(buffer, start + Frames.HEADER, inPlaceArrived);
        inPlace = message;
        start = end;
    }

    /**
     * Returns the complete messages among the received bytes.
     *
     * @throws ProtocolException if the bytes are malformed; if they complete messages before the fault, the next call
     *     or the next {@link #read} throws it
     */
    public List<Frame> messages() {
        List<Frame> messages = new ArrayList<>();
        addMessages(messages);
        return messages;
    }

    /** Appends the complete messages to a list. A fault after a message is thrown by the next call. */
    private void addMessages(List<Frame> messages) {
        if (malformed != null) {
            throw malformed;
        }
        if (completed != null) {
            messages.add(completed);
            completed = null;
        }
        try {
            decode(messages);
        } catch (ProtocolException fault) {
            if (messages.isEmpty()) {
                throw fault;
            }
            malformed = fault;
        }
    }

    /** Appends the complete messages of the buffer to a list. */
    private void decode(List<Frame> messages) {
        ByteBuffer view = ByteBuffer.wrap(buffer);
        while (end - start >= 4) {
            // The length is checked as soon as its four bytes are present.
            int frameLength = view.getInt(start);
            if (frameLength < Frames.TYPE_AND_ID || frameLength > maxLength) {
                throw new ProtocolException("malformed frame: a length of " + Integer.toUnsignedString(frameLength)
                        + " is not in " + Frames.TYPE_AND_ID + ".." + maxLength);
            }
            if (end - start < 4 + frameLength) {
                if (unfinished > 0 && end - start >= Frames.HEADER) {
                    int body = frameLength + 4 - Frames.HEADER;
                    continueInPlace(buffer[start + 4] & 0xff, view.getLong(start + 5), body);
                }
                break;
            }
            int type = buffer[start + 4] & 0xff;
            long id = view.getLong(start + 5);
            int next = start + 4 + frameLength;
            take(type, id, start + Frames.HEADER, frameLength + 4 - Frames.HEADER, messages);
            start = next;
        }
        if (start == end) {
            start = 0;
            end = 0;
        }
    }

    /** Makes space for {@code length} bytes after those of the incomplete frame. */
    private void reserve(int length) {
        if (buffer.length - end >= length) {
            return;
        }
        int pending = end - start;
        byte[] target =
                buffer.length < pending + length ? new byte[Math.max(pending + length, 2 * buffer.length)] : buffer;
        System.arraycopy(buffer, start, target, 0, pending);
        buffer = target;
        start = 0;
        end = pending;
    }

    private void take(int typeAndMore, long id, int offset, int length, List<Frame> messages) {
        boolean more = (typeAndMore & Frames.MORE) != 0;
        FrameType type = FrameType.ofCode(typeAndMore & ~Frames.MORE);
        if (type == null) {
            throw new ProtocolException("malformed frame: unknown type " + (typeAndMore & ~Frames.MORE));
        }
        if (maxLength == Frames.UNPROVEN_MAX_LENGTH && (more || !type.isHandshake())) {
            // An unauthenticated peer must not make the decoder buffer anything, not even small fragments.
            throw new ProtocolException("malformed frame: " + type + " before the link is open");
        }
        if (more && !type.isFragmentable()) {
            throw new ProtocolException("malformed frame: " + type + " is never fragmented");
        }
        Map<Long, Fragments> ofType = fragments.get(type);
        Fragments earlier = ofType == null ? null : ofType.get(id);
        if (earlier == null && !more) {
            messages.add(new Frame(type, id, Arrays.copyOfRange(buffer, offset, offset + length)));
            return;
        }
        if (earlier != null && earlier.size + length > Frames.MAX_MESSAGE) {
            throw new ProtocolException(
                    "malformed frame: a " + type + " of more than " + Frames.MAX_MESSAGE + " bytes");
        }
        int announced = earlier == null ? announcedSize(offset, length) : 0;
        // An announced message counts with its whole size, before its array is allocated.
        long memory = earlier == null
                ? Math.max(announced, length)
                : Math.max(earlier.memory, earlier.size + length) - earlier.memory;
        unfinishedBytes += memory;
        if (unfinishedBytes > maxUnfinishedBytes) {
            throw new ProtocolException(
                    "malformed frame: " + maxUnfinishedBytes + " bytes of unfinished messages are the limit" + ADVICE);
        }
        if (earlier == null) {
            if (unfinished >= maxUnfinished) {
                throw new ProtocolException(
                        "malformed frame: " + maxUnfinished + " unfinished messages are the limit" + ADVICE);
            }
            unfinished++;
            earlier = new Fragments(type, id, announced);
            fragments.computeIfAbsent(type, none -> new HashMap<>()).put(id, earlier);
        }
        earlier.memory += memory;
        earlier.add(buffer, offset, length);
        if (!more) {
            messages.add(finish(earlier));
        }
    }

    private Frame finish(Fragments message) {
        fragments.get(message.type).remove(message.id);
        unfinished--;
        unfinishedBytes -= message.memory;
        return new Frame(message.type, message.id, message.join());
    }

    /**
     * Returns the size of a message from its first fragment, or 0 if it is unknown. A NEXT of one large extension, such
     * as an Arrow batch, announces its size in the header of the value.
     */
    private int announcedSize(int offset, int length) {
        if (length < 7 || buffer[offset] != (byte) 0x91 || buffer[offset + 1] != (byte) 0xc9) {
            return 0;
        }
        long size = 7 + (ByteBuffer.wrap(buffer).getInt(offset + 2) & 0xffffffffL);
        return size > length && size <= MAX_ANNOUNCED ? (int) size : 0;
    }
}
