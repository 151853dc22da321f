package io.pyrs.link.protocol;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertThrows;
import static org.testng.Assert.assertTrue;
import static org.testng.Assert.expectThrows;

import io.pyrs.Vectors;
import java.io.IOException;
import java.util.ArrayList;
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
        if (vector.containsKey("malformed")) {
            ProtocolException error = expectThrows(
                    ProtocolException.class, () -> new FrameDecoder(Frames.MAX_LENGTH).feed(bytes, 0, bytes.length));
            assertTrue(error.getMessage().startsWith("malformed frame"), error.getMessage());
            return;
        }
        for (int step : new int[] {Math.max(1, bytes.length), 1, 3}) {
            FrameDecoder decoder = new FrameDecoder(Frames.MAX_LENGTH);
            List<Frame> messages = new ArrayList<>();
            for (int at = 0; at < bytes.length; at += step) {
                messages.addAll(decoder.feed(bytes, at, Math.min(step, bytes.length - at)));
            }
            List<?> expected = (List<?>) vector.get("frames");
            assertEquals(messages.size(), expected.size());
            for (int i = 0; i < messages.size(); i++) {
                Map<?, ?> frame = (Map<?, ?>) expected.get(i);
                assertEquals(messages.get(i).type.code(), Vectors.number(frame.get("type")));
                assertEquals(messages.get(i).id, Vectors.number(frame.get("id")));
                assertEquals(Vectors.hex(messages.get(i).body), frame.get("body"));
            }
            assertEquals(decoder.pending(), Vectors.number(vector.get("pending")));
        }
    }

    private static List<Frame> feed(FrameDecoder decoder, int type, long id, int length) {
        byte[] bytes = new byte[Frames.HEADER + length];
        Frames.writeHeader(bytes, 0, FrameType.ofCode(type & ~Frames.MORE), (type & Frames.MORE) != 0, id, length);
        return decoder.feed(bytes, 0, bytes.length);
    }

    @Test
    public void fragmentsOfUnfinishedMessagesAreBounded() {
        FrameDecoder decoder = new FrameDecoder(Frames.MAX_LENGTH, 2, 100 + 3 * FrameDecoder.FRAGMENT_BYTES);
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
