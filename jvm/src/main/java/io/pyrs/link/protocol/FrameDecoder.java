package io.pyrs.link.protocol;

import java.io.ByteArrayOutputStream;
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
 * <p>Lengths are checked before memory is allocated. Memory is bounded by one frame, and by 1 GiB for each fragmented
 * message. Not thread-safe: only the reader uses it.
 */
public final class FrameDecoder {
    private byte[] buffer = new byte[4096];
    private int start;
    private int end;
    private int maxLength;
    /** The fragments received so far, by type and id: fragments of different messages may interleave. */
    private final Map<FrameType, Map<Long, ByteArrayOutputStream>> fragments = new EnumMap<>(FrameType.class);

    public FrameDecoder(int maxLength) {
        this.maxLength = maxLength;
    }

    public void setMaxLength(int maxLength) {
        this.maxLength = maxLength;
    }

    /** Returns the number of bytes of the incomplete frame. */
    public int pending() {
        return end - start;
    }

    /**
     * Appends received bytes and returns the messages that they complete.
     *
     * @throws ProtocolException if the bytes are malformed; valid messages in the same bytes are lost
     */
    public List<Frame> feed(byte[] bytes, int offset, int length) {
        append(bytes, offset, length);
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

    private void append(byte[] bytes, int offset, int length) {
        if (buffer.length - end < length) {
            int pending = end - start;
            byte[] target = buffer.length < pending + length ? new byte[pending + length] : buffer;
            System.arraycopy(buffer, start, target, 0, pending);
            buffer = target;
            start = 0;
            end = pending;
        }
        System.arraycopy(bytes, offset, buffer, end, length);
        end += length;
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
        Map<Long, ByteArrayOutputStream> ofType = fragments.get(type);
        ByteArrayOutputStream earlier = ofType == null ? null : ofType.get(id);
        if (earlier == null && !more) {
            messages.add(new Frame(type, id, Arrays.copyOfRange(buffer, offset, offset + length)));
            return;
        }
        if (earlier != null && (long) earlier.size() + length > Frames.MAX_MESSAGE) {
            throw new ProtocolException(
                    "malformed frame: a " + type + " of more than " + Frames.MAX_MESSAGE + " bytes");
        }
        if (earlier == null) {
            earlier = new ByteArrayOutputStream(2 * length + 32);
            fragments.computeIfAbsent(type, none -> new HashMap<>()).put(id, earlier);
        }
        earlier.write(buffer, offset, length);
        if (!more) {
            fragments.get(type).remove(id);
            messages.add(new Frame(type, id, earlier.toByteArray()));
        }
    }
}
