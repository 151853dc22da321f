package io.pyrs.link.connection;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertThrows;
import static org.testng.Assert.assertTrue;

import io.pyrs.ObjectKind;
import io.pyrs.Vectors;
import io.pyrs.link.protocol.Frame;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import io.pyrs.link.session.RecordingSubscriber;
import io.pyrs.link.session.Session;
import io.pyrs.link.session.StreamOptions;
import io.pyrs.value.Conversion;
import java.io.EOFException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import org.testng.annotations.AfterMethod;
import org.testng.annotations.BeforeMethod;
import org.testng.annotations.DataProvider;
import org.testng.annotations.Test;

/** Java accepts or refuses each form of each frame as the shared test vectors specify. */
public class ReceivedFramesTest {
    private static final byte[] TOKEN = "a token that has thirty-two bytes".getBytes();
    private static final long BARRIER = 99;
    private Connection connection;
    private FakePython python;
    private final Map<String, Long> ids =
            new HashMap<>(Map.of("none", 0L, "in", 2L, "out", 1L, "mine", 22L, "new", 21L, "gone", 23L, "call", 77L));

    /** Opens a link with a stream in each direction, three exported objects and a call that waits. */
    @BeforeMethod
    public void open() throws Exception {
        connection = FakePython.listener(TOKEN, 30_000);
        connection.start();
        python = new FakePython(connection.port(), TOKEN);
        assertTrue(python.isProven());
        Session session = connection.session();
        Publisher<Object> never = subscriber -> subscriber.onSubscribe(new Subscription() {
            @Override
            public void request(long n) {}

            @Override
            public void cancel() {}
        });
        assertEquals(session.handles().own(never), 1);
        assertEquals(session.handles().own(new RecordingSubscriber()), 2);
        assertEquals(session.handles().own(Function.identity()), 3);
        RecordingSubscriber consumer = new RecordingSubscriber();
        session.subscribe(session.handles().receipt(ObjectKind.PUBLISHER, 7), consumer, StreamOptions.DEFAULT);
        consumer.subscription.request(1_000);
        python.send(FrameType.SUBSCRIBE, 1, List.of(1, Map.of()));
        Thread caller = new Thread(() -> {
            try {
                session.call(session.handles().receipt(ObjectKind.OBJECT, 9), List.of(), Conversion.AUTO);
            } catch (Throwable ended) {
                // The answer is an error, or the link ends.
            }
        });
        caller.setDaemon(true);
        caller.start();
        ids.put("waiting", python.next(FrameType.CALL).id);
        assertEquals(python.barrier(1L), 1L);
    }

    @AfterMethod(alwaysRun = true)
    public void close() throws IOException {
        python.close();
        connection.close();
    }

    @DataProvider
    public Iterator<Object[]> frames() throws IOException {
        return Vectors.rows("received.json");
    }

    @Test(dataProvider = "frames", timeOut = 120_000)
    public void frameIsAcceptedOrRefusedAsRecorded(String name, Map<String, Object> row) throws Exception {
        FrameType type = FrameType.valueOf((String) row.get("type"));
        python.send(Frames.frame(type, ids.get((String) row.get("id")), Vectors.bytes(row.get("body"))));
        List<?> expected = row.get("then") instanceof List ? (List<?>) row.get("then") : null;
        List<String> sent = new ArrayList<>();
        if (expected == null) {
            // No barrier: bytes that Java does not read could make its GOAWAY invisible.
            sent.add(name(next()));
            assertThrows(EOFException.class, this::next);
        }
        for (int barrier = 0; expected != null && barrier < 2; barrier++) {
            python.send(FrameType.CALL, BARRIER, List.of(0, List.of()));
            boolean answered = false;
            while (!answered || sent.size() < expected.size()) { // a worker sends the answers, in any order
                Frame next = next();
                answered |= next.id == BARRIER;
                if (next.id != BARRIER) {
                    sent.add(name(next));
                }
            }
        }
        assertEquals(sent, expected == null ? List.of("GOAWAY 2") : expected);
    }

    private Frame next() throws IOException {
        Frame next = python.next();
        return next.type == FrameType.REQUEST || next.type == FrameType.RELEASE ? next() : next;
    }

    private String name(Frame frame) {
        return frame.type == FrameType.GOAWAY
                ? "GOAWAY " + ((List<?>) python.decode(frame.body)).get(0)
                : frame.type.name();
    }
}
