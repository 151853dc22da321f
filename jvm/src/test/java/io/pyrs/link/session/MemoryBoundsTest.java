package io.pyrs.link.session;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertTrue;
import static org.testng.Assert.expectThrows;

import io.pyrs.Limits;
import io.pyrs.ObjectKind;
import io.pyrs.link.protocol.Frame;
import io.pyrs.link.protocol.FrameDecoder;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import io.pyrs.value.ConversionException;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.reactivestreams.Publisher;
import org.testng.annotations.Test;

/** The memory that an authenticated peer can occupy is bounded: beyond a limit, a stream, a call or the link fails. */
public class MemoryBoundsTest {
    private final ArrayDeque<Frame> sent = new ArrayDeque<>();
    private final FrameDecoder decoder = new FrameDecoder(Frames.MAX_LENGTH);
    private final Outbox outbox = new Outbox(
            new Outbox.Sink() {
                @Override
                public void write(byte[] bytes, int offset, int length) {
                    sent.addAll(decoder.feed(bytes, offset, length));
                }

                @Override
                public void flush() {}
            },
            () -> {});
    private final Session session = new Session(
            Runnable::run, outbox, reference -> reference, MemoryBoundsTest.class.getClassLoader(), 16, 1_000, 2);

    private void receive(FrameType type, long id, Object body) {
        byte[] bytes = session.codec().frame(type, id, body);
        new FrameDecoder(Frames.MAX_LENGTH).feed(bytes, 0, bytes.length).forEach(session::receive);
    }

    @Test
    public void streamBeyondTheLimitFailsAlone() {
        int limit = Limits.of("link.streams");
        Publisher<Object> never = subscriber -> {};
        long handle = session.handles().own(never);
        for (long id = 1; id < 2L * limit; id += 2) {
            receive(FrameType.SUBSCRIBE, id, List.of(handle, Map.of()));
        }
        assertEquals(session.streamsLive(), limit);
        long refused = 2L * limit + 1;
        receive(FrameType.SUBSCRIBE, refused, List.of(handle, Map.of()));
        long subscriber = session.handles().own(new RecordingSubscriber());
        receive(FrameType.ON_SUBSCRIBE, refused + 2, List.of(subscriber, Map.of()));
        outbox.open();
        outbox.write();
        Frame error = sent.poll();
        assertEquals(error.type, FrameType.ERROR);
        assertEquals(error.id, refused);
        String message = session.codec().decodeError(error).getMessage();
        assertTrue(message.contains("link.streams"), message);
        Frame cancel = sent.poll();
        assertEquals(cancel.type, FrameType.CANCEL);
        assertEquals(cancel.id, refused + 2);

        RecordingSubscriber own = new RecordingSubscriber();
        session.subscribe(session.handles().receipt(ObjectKind.PUBLISHER, 7), own, StreamOptions.DEFAULT);
        own.subscription.request(1);
        assertTrue(own.error.getMessage().contains("link.streams"), String.valueOf(own.error));
        assertTrue(expectThrows(
                        IllegalStateException.class,
                        () -> session.openTo(
                                session.handles().receipt(ObjectKind.SUBSCRIBER, 8), StreamOptions.DEFAULT))
                .getMessage()
                .contains("cancel some of them"));
        assertEquals(session.streamsLive(), limit);
        receive(FrameType.CANCEL, 1);
        receive(FrameType.SUBSCRIBE, refused + 4, List.of(handle, Map.of()));
        assertEquals(session.streamsLive(), limit);
    }

    private void receive(FrameType type, long id) {
        session.receive(new Frame(type, id, Frames.NOTHING));
    }

    @Test
    public void callBeyondTheLimitFailsAlone() {
        int limit = Limits.of("call.pending");
        for (long id = 1; id <= limit + 1; id++) {
            receive(FrameType.CALL, id, List.of(0L, List.of(id)));
        }
        outbox.open(); // until here, the peer did not read
        outbox.write();
        Frame refused = sent.poll();
        assertEquals(refused.id, limit + 1);
        List<?> failure = (List<?>) session.codec().decode(refused.body);
        assertEquals(failure.get(0), false);
        assertTrue(failure.toString().contains("call.pending"), failure.toString());
        assertEquals(sent.size(), limit);
        sent.clear();
        receive(FrameType.CALL, 7, List.of(0L, List.of("again")));
        assertEquals(session.codec().decode(sent.poll().body), List.of(true, "again"));
    }

    @Test
    public void referenceBeyondTheLimitFailsItsValue() {
        Handles handles = new Handles(reference -> null, 2);
        long first = handles.own(new Object());
        Object second = new Object();
        handles.own(second);
        handles.own(second);
        ConversionException error = expectThrows(ConversionException.class, () -> handles.own(new Object()));
        assertTrue(error.getMessage().contains("link.handles"), error.getMessage());
        assertEquals(handles.ownedCount(), 2);
        handles.receiveRelease(first, 1);
        handles.own(new Object());
    }

    @Test
    public void peerThatDoesNotReadAnswersOverflowsTheOutbox() {
        AtomicInteger overflows = new AtomicInteger();
        Outbox small = new Outbox(
                new Outbox.Sink() {
                    @Override
                    public void write(byte[] bytes, int offset, int length) {}

                    @Override
                    public void flush() {}
                },
                () -> {},
                overflows::incrementAndGet,
                3);
        small.open();
        for (int i = 0; i < 3; i++) {
            small.control(new byte[1]);
        }
        small.write(); // written frames do not count
        for (int i = 0; i < 3; i++) {
            small.control(new byte[1]);
        }
        assertEquals(overflows.get(), 0);
        small.control(new byte[1]);
        assertEquals(overflows.get(), 1);
    }
}
