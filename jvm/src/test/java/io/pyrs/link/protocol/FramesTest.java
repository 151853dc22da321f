package io.pyrs.link.protocol;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertThrows;
import static org.testng.Assert.assertTrue;
import static org.testng.Assert.expectThrows;

import io.pyrs.Vectors;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.testng.annotations.DataProvider;
import org.testng.annotations.Test;

public class FramesTest {
    @DataProvider
    public Iterator<Object[]> vectors() throws IOException {
        return Vectors.rows("frames.json");
    }

    @Test(dataProvider = "vectors")
    public void replaysVector(String name, Map<String, Object> vector) {
        byte[] bytes = Vectors.bytes(vector.get("hex"));
        for (int step : new int[] {Math.max(1, bytes.length), 1, 3}) {
            FrameDecoder decoder = new FrameDecoder(Frames.MAX_LENGTH);
            List<Frame> messages = new ArrayList<>();
            if (vector.containsKey("malformed")) {
                ProtocolException error = expectThrows(ProtocolException.class, () -> {
                    feed(decoder, bytes, step, messages);
                    decoder.messages(); // throws an error behind complete frames
                });
                assertTrue(error.getMessage().startsWith("malformed frame"), error.getMessage());
                assertTrue(error.getMessage().contains((String) vector.get("malformed")), error.getMessage());
            } else {
                feed(decoder, bytes, step, messages);
                assertEquals(decoder.pending(), Vectors.number(vector.get("pending")));
            }
            List<?> expected = (List<?>) vector.getOrDefault("frames", List.of());
            assertEquals(messages.size(), expected.size());
            for (int i = 0; i < messages.size(); i++) {
                Map<?, ?> frame = (Map<?, ?>) expected.get(i);
                assertEquals(messages.get(i).type.code(), Vectors.number(frame.get("type")));
                assertEquals(messages.get(i).id, Vectors.number(frame.get("id")));
                assertEquals(Vectors.hex(messages.get(i).body), frame.get("body"));
            }
        }
    }

    /** Feeds bytes to a decoder in parts of at most {@code step} bytes, and adds the messages to a list. */
    private static void feed(FrameDecoder decoder, byte[] bytes, int step, List<Frame> messages) {
        for (int at = 0; at < bytes.length; at += step) {
            messages.addAll(decoder.feed(bytes, at, Math.min(step, bytes.length - at)));
        }
    }

    private static List<Frame> feed(FrameDecoder decoder, int type, long id, int length) {
        byte[] bytes = new byte[Frames.HEADER + length];
        Frames.writeHeader(bytes, 0, FrameType.ofCode(type & ~Frames.MORE), (type & Frames.MORE) != 0, id, length);
        return decoder.feed(bytes, 0, bytes.length);
    }

    @Test
    public void fragmentsOfUnfinishedMessagesAreBounded() {
        FrameDecoder decoder = new FrameDecoder(Frames.MAX_LENGTH, 2, 100);
        int next = FrameType.NEXT.code();
        for (int round = 0; round < 3; round++) { // finished messages do not count
            feed(decoder, next | Frames.MORE, 1, 50);
            feed(decoder, next | Frames.MORE, 2, 40);
            assertEquals(feed(decoder, next, 1, 10).get(0).body.length, 60);
            assertEquals(feed(decoder, next, 2, 0).get(0).body.length, 40);
        }
        feed(decoder, next | Frames.MORE, 1, 50);
        feed(decoder, next | Frames.MORE, 2, 40);
        ProtocolException bytes = expectThrows(ProtocolException.class, () -> feed(decoder, next | Frames.MORE, 1, 11));
        assertTrue(bytes.getMessage().contains("message.unfinished_mib"), bytes.getMessage());
        FrameDecoder other = new FrameDecoder(Frames.MAX_LENGTH, 2, 1_000);
        feed(other, next | Frames.MORE, 1, 1);
        feed(other, next | Frames.MORE, 2, 1);
        ProtocolException count = expectThrows(ProtocolException.class, () -> feed(other, next | Frames.MORE, 3, 1));
        assertTrue(count.getMessage().startsWith("malformed frame: 2 unfinished"), count.getMessage());
    }

    /** Python counts the bytes of fragments, too, and nothing else. */
    @Test
    public void smallFragmentsCountWithTheirBytes() {
        FrameDecoder decoder = new FrameDecoder(Frames.MAX_LENGTH, 2, 100_000);
        int next = FrameType.NEXT.code();
        byte[] expected = new byte[100_000];
        for (int i = 0; i < expected.length; i++) {
            expected[i] = (byte) i;
            byte[] frame = Frames.frame(FrameType.NEXT, 1, new byte[] {(byte) i});
            frame[4] |= (byte) (i < expected.length - 1 ? Frames.MORE : 0);
            List<Frame> messages = decoder.feed(frame, 0, frame.length);
            assertEquals(messages.size(), i < expected.length - 1 ? 0 : 1);
            messages.forEach(message -> assertTrue(Arrays.equals(message.body, expected)));
        }
        feed(decoder, next | Frames.MORE, 1, 100_000);
        assertThrows(ProtocolException.class, () -> feed(decoder, next | Frames.MORE, 1, 1));
    }

    /** Returns the frames of a NEXT with one extension whose header announces {@code announced} bytes. */
    private static byte[] extensionFrames(long id, int announced, byte[] body, int fragment) {
        body[0] = (byte) 0x91;
        body[1] = (byte) 0xc9;
        ByteBuffer.wrap(body).putInt(2, announced);
        int frames = (body.length + fragment - 1) / fragment;
        byte[] bytes = new byte[body.length + frames * Frames.HEADER];
        for (int i = 0; i < frames; i++) {
            int size = Math.min(fragment, body.length - i * fragment);
            int at = i * (fragment + Frames.HEADER);
            Frames.writeHeader(bytes, at, FrameType.NEXT, i < frames - 1, id, size);
            System.arraycopy(body, i * fragment, bytes, at + Frames.HEADER, size);
        }
        return bytes;
    }

    private static byte[] randomBody(int size) {
        byte[] body = new byte[size];
        new Random(size).nextBytes(body);
        return body;
    }

    @Test
    public void announcedMessageIsJoinedFromReadsOfAnySize() throws IOException {
        for (int difference : new int[] {0, 300_000, -300_000}) { // a wrong size must not change the message
            for (int step : new int[] {997, 65_536, 131_072, 1 << 22}) {
                byte[] body = randomBody(700_000);
                byte[] bytes = extensionFrames(3, body.length - 7 + difference, body, Frames.MAX_FRAGMENT);
                FrameDecoder fed = new FrameDecoder(Frames.MAX_LENGTH);
                FrameDecoder reading = new FrameDecoder(Frames.MAX_LENGTH);
                List<Frame> fromFeed = new ArrayList<>();
                List<Frame> fromRead = new ArrayList<>();
                for (int at = 0; at < bytes.length; at += step) {
                    int size = Math.min(step, bytes.length - at);
                    fromFeed.addAll(fed.feed(bytes, at, size));
                    ByteArrayInputStream in = new ByteArrayInputStream(bytes, at, size);
                    while (reading.read(in, 256 * 1024) >= 0) {
                        fromRead.addAll(reading.messages());
                    }
                }
                for (List<Frame> messages : List.of(fromFeed, fromRead)) {
                    assertEquals(messages.size(), 1);
                    assertTrue(Arrays.equals(messages.get(0).body, body));
                }
                assertEquals(fed.pending() + reading.pending(), 0);
            }
        }
    }

    @Test
    public void announcedMessageBeforeMalformedBytesIsReturned() {
        FrameDecoder decoder = new FrameDecoder(Frames.MAX_LENGTH);
        byte[] body = randomBody(200_000);
        byte[] message = extensionFrames(3, body.length - 7, body, 65_536);
        int first = 150_000;
        assertEquals(decoder.feed(message, 0, first).size(), 0);
        byte[] rest = Arrays.copyOfRange(message, first, message.length + 4); // a frame of length 0 follows
        assertEquals(decoder.feed(rest, 0, rest.length).size(), 1);
        assertThrows(ProtocolException.class, () -> decoder.feed(rest, 0, 0));
    }

    @Test
    public void otherFramesMayInterleaveWithAnAnnouncedMessage() {
        byte[] body = randomBody(400_000);
        byte[] large = extensionFrames(3, body.length - 7, body, 65_536);
        byte[] cancel = Frames.frame(FrameType.CANCEL, 5, Frames.NOTHING);
        for (int step : new int[] {1_000, 100_000}) {
            FrameDecoder decoder = new FrameDecoder(Frames.MAX_LENGTH);
            List<String> types = new ArrayList<>();
            ByteBuffer stream = ByteBuffer.allocate(large.length + 7 * cancel.length);
            for (int at = 0; at < large.length; at += 65_536 + Frames.HEADER) {
                stream.put(large, at, Math.min(65_536 + Frames.HEADER, large.length - at))
                        .put(cancel);
            }
            for (int at = 0; at < stream.position(); at += step) {
                for (Frame frame : decoder.feed(stream.array(), at, Math.min(step, stream.position() - at))) {
                    types.add(frame.toString());
                }
            }
            List<String> expected = new ArrayList<>(Collections.nCopies(7, "CANCEL 5, 0 bytes"));
            expected.add(6, "NEXT 3, 400000 bytes");
            assertEquals(types, expected);
        }
    }

    @Test
    public void announcedSizeCountsAgainstTheLimitBeforeAllocation() {
        FrameDecoder decoder = new FrameDecoder(Frames.MAX_LENGTH, 9, 1_500_000);
        byte[] body = randomBody(700_000);
        for (int round = 0; round < 3; round++) { // finished messages do not count
            byte[] whole = extensionFrames(3, body.length - 7, body, 65_536);
            assertEquals(decoder.feed(whole, 0, whole.length).size(), 1);
        }
        for (int id = 1; id <= 2; id++) {
            decoder.feed(extensionFrames(id, body.length - 7, body, 65_536), 0, 65_549);
        }
        byte[] third = extensionFrames(3, body.length - 7, body, 65_536);
        assertThrows(ProtocolException.class, () -> decoder.feed(third, 0, 65_549));
    }

    @Test
    public void randomBytesNeverHangAndBufferAtMostOneFrame() {
        Random random = new Random(42);
        for (int round = 0; round < 2_000; round++) {
            FrameDecoder decoder = new FrameDecoder(Frames.MAX_LENGTH);
            byte[] bytes = new byte[random.nextInt(400)];
            random.nextBytes(bytes);
            if (round % 2 == 0 && bytes.length > 4) {
                bytes[0] = 0;
                bytes[1] = 0;
                bytes[2] = 0;
            }
            try {
                decoder.feed(bytes, 0, bytes.length);
                assertTrue(decoder.pending() <= Frames.MAX_LENGTH + 4);
            } catch (ProtocolException expected) {
                assertTrue(expected.getMessage().startsWith("malformed"));
            }
        }
    }

    @Test
    public void batchHoldsAtLeastOneValue() {
        assertEquals(Frames.batchSize(Vectors.bytes("93010203")), 3);
        assertEquals(Frames.batchSize(Vectors.bytes("dc000101")), 1);
        for (String bad : new String[] {"", "90", "dc0000", "c0", "dd7fffffff01", "9301"}) {
            assertThrows(ProtocolException.class, () -> Frames.batchSize(Vectors.bytes(bad)));
        }
    }
}
