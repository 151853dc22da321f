package io.pyrs.link.session;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertThrows;

import io.pyrs.link.protocol.FrameDecoder;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import java.util.ArrayList;
import java.util.List;
import org.testng.annotations.Test;

/** Tests an Outbox whose source finds no memory for its next frame. */
public class MemoryErrorsTest {
    private static final class RecordedTypes implements Outbox.Sink {
        final List<FrameType> types = new ArrayList<>();
        private final FrameDecoder decoder = new FrameDecoder(Frames.MAX_LENGTH);

        @Override
        public void write(byte[] bytes, int offset, int length) {
            decoder.feed(bytes, offset, length).forEach(frame -> types.add(frame.type));
        }

        @Override
        public void flush() {}
    }

    /** Otherwise another stream would lose its turn, and wait forever. */
    @Test
    public void sourceThatThrowsKeepsItsTurnAndTheWriterIsWoken() {
        RecordedTypes sink = new RecordedTypes();
        List<String> wakes = new ArrayList<>();
        Outbox outbox = new Outbox(sink, () -> wakes.add("wake"));
        outbox.open();
        List<Throwable> errors = new ArrayList<>(List.of(new OutOfMemoryError("a test")));
        outbox.ready(new Outbox.Source() {
            @Override
            boolean take(Outbox to) {
                if (!errors.isEmpty()) {
                    throw (OutOfMemoryError) errors.remove(0);
                }
                byte[] frame = Frames.request(5, 1);
                to.writeFrame(frame, 0, frame.length);
                return false;
            }
        });
        assertThrows(OutOfMemoryError.class, outbox::flush);
        assertEquals(wakes, List.of("wake"));
        outbox.write();
        assertEquals(sink.types, List.of(FrameType.REQUEST));
    }
}
