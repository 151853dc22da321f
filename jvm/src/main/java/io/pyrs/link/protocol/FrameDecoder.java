package io.pyrs.link.protocol;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Decodes the bytes of a connection to complete messages, independent of the boundaries between reads.
 *
 * <p>Lengths are checked before memory is allocated. Memory is bounded by one frame, and by the limits
 * message.unfinished and message.unfinished_mib for fragments. Not thread-safe: only the reader uses it.
 */
public final class FrameDecoder {
    private static final String ADVICE =
            " of a link (message.unfinished, message.unfinished_mib): send fewer large values at the same time";

    /** The memory of a fragment in addition to its bytes. It counts, since a peer may send fragments of one byte. */
    static final long FRAGMENT_BYTES = 32;

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

    /** The fragments of one message, joined at its end: an array that grows would be copied more often. */
    private static final class Fragments {
        private final List<byte[]> parts = new ArrayList<>();
        private long size;

        private void add(byte[] part) {
            parts.add(part);
            size += part.length;
        }

        private long memory() {
            return size + FRAGMENT_BYTES * parts.size();
        }

        private byte[] join() {
            byte[] whole = new byte[(int) size];
            int filled = 0;
            for (byte[] part : parts) {
                System.arraycopy(part, 0, whole, filled, part.length);
                filled += part.length;
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
        return end - start;
    }

    /**
     * Appends the bytes of one read, at least 1 and at most about {@code most}.
     *
     * @return the number of bytes, or -1 at the end of the stream
     */
    public int read(InputStream in, int most) throws IOException {
        reserve(most);
        int size = in.read(buffer, end, buffer.length - end);
        end += Math.max(size, 0);
        return size;
    }

    /**
     * Appends received bytes and returns the messages that they complete.
     *
     * @throws ProtocolException if the bytes are malformed; valid messages in the same bytes are lost
     */
    public List<Frame> feed(byte[] bytes, int offset, int length) {
        reserve(length);
        System.arraycopy(bytes, offset, buffer, end, length);
        end += length;
        return messages();
    }

    /**
     * Returns the complete messages among the received bytes.
     *
     * @throws ProtocolException if the bytes are malformed; valid messages in the same bytes are lost
     */
    public List<Frame> messages() {
        List<Frame> messages = new ArrayList<>();
        ByteBuffer view = ByteBuffer.wrap(buffer);
        while (end - start >= 4) {
            // The length is checked as soon as its four bytes are present.
            int frameLength = view.getInt(start);
            if (frameLength < Frames.TYPE_AND_ID || frameLength > maxLength) {
                throw new ProtocolException("malformed frame: a length of " + Integer.toUnsignedString(frameLength)
                        + " is not in " + Frames.TYPE_AND_ID + ".." + maxLength);
            }
            if (end - start < 4 + frameLength) {
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
        return messages;
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
        byte[] body = Arrays.copyOfRange(buffer, offset, offset + length);
        if (earlier == null && !more) {
            messages.add(new Frame(type, id, body));
            return;
        }
        if (earlier != null && earlier.size + length > Frames.MAX_MESSAGE) {
            throw new ProtocolException(
                    "malformed frame: a " + type + " of more than " + Frames.MAX_MESSAGE + " bytes");
        }
        unfinishedBytes += length + FRAGMENT_BYTES;
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
            earlier = new Fragments();
            fragments.computeIfAbsent(type, none -> new HashMap<>()).put(id, earlier);
        }
        earlier.add(body);
        if (!more) {
            fragments.get(type).remove(id);
            unfinished--;
            unfinishedBytes -= earlier.memory();
            messages.add(new Frame(type, id, earlier.join()));
        }
    }
}
