package io.pyrs.link.session;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertFalse;
import static org.testng.Assert.assertTrue;

import io.pyrs.value.Conversion;
import java.util.ArrayList;
import java.util.List;
import org.testng.annotations.BeforeMethod;
import org.testng.annotations.Test;

/** Verifies when the writer thread waits for more elements of a Publisher. */
public class OutboundBatchesTest {
    private final List<Integer> sizes = new ArrayList<>();
    private OutboundStream stream;
    private OutboundBatches batches;
    private Outbox outbox;

    @BeforeMethod
    public void open() {
        sizes.clear();
        outbox = new Outbox(
                new Outbox.Sink() {
                    @Override
                    public void write(byte[] bytes, int offset, int length) {
                        sizes.add(bytes[offset + length - 1] + 1);
                    }

                    @Override
                    public void flush() {}
                },
                () -> {});
        outbox.open();
        Session session = new DirectSession(4096).session;
        stream = new OutboundStream(session, 1, Conversion.AUTO, null);
        batches = new OutboundBatches(stream, session, Conversion.AUTO);
    }

    /** Emits the numbers from 0 to {@code count - 1}, so that the last byte of a frame shows its batch size. */
    private void emit(int count) {
        for (long element = 0; element < count; element++) {
            assertTrue(batches.enter());
            batches.add(element);
            batches.leave();
            outbox.ready(batches);
        }
    }

    @Test
    public void writerWaitsForMoreElementsOfFastPublisher() {
        assertFalse(outbox.isFilling(), "nothing is queued");
        emit(7);
        assertFalse(outbox.isFilling(), "few elements");
        emit(8);
        assertTrue(outbox.isFilling(), "a burst");
    }

    @Test
    public void writerWaitsForMoreElementsOnlyAfterLargeBatch() {
        emit(8);
        outbox.write();
        emit(1);
        assertTrue(outbox.isFilling(), "after a burst");
        outbox.write();
        emit(1);
        assertFalse(outbox.isFilling(), "after a single element");
        outbox.write();
        assertEquals(sizes, List.of(8, 1, 1));
    }

    @Test
    public void writerDoesNotWaitAfterTerminalSignal() {
        emit(8);
        stream.onComplete();
        assertFalse(outbox.isFilling());
    }

    @Test
    public void controlFrameDoesNotWait() {
        emit(8);
        outbox.control(new byte[] {0});
        assertFalse(outbox.isFilling());
    }
}
