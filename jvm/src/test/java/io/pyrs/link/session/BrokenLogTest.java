package io.pyrs.link.session;

import static org.testng.Assert.assertEquals;

import io.pyrs.Log;
import io.pyrs.ObjectKind;
import io.pyrs.PeerReference;
import io.pyrs.link.protocol.FrameDecoder;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.testng.annotations.Test;

/** Tests that a stream ends although a log handler of the application throws. */
public class BrokenLogTest {
    private static final Logger LOGGER = Logger.getLogger("io.pyrs");

    private static final class ThrowingHandler extends Handler {
        private final Thread here = Thread.currentThread();

        @Override
        public void publish(LogRecord record) {
            if (Thread.currentThread() == here) { // threads of another test may still log
                throw new IllegalStateException("a broken handler");
            }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }

    @Test
    public void messageWithoutAnErrorIsLoggedWithoutThrowing() {
        Handler handler = new ThrowingHandler();
        LOGGER.addHandler(handler);
        try {
            Log.warning("a message", null);
        } finally {
            LOGGER.removeHandler(handler);
        }
    }

    @Test
    public void streamOfSubscriberThatThrowsEndsAlthoughTheLogThrows() {
        DirectSession direct = new DirectSession(16);
        PeerReference publisher = direct.session.handles().receipt(ObjectKind.PUBLISHER, 7);
        direct.session.subscribe(publisher, new ThrowingSubscriber(), StreamOptions.DEFAULT);
        byte[] batch = direct.session.codec().frame(FrameType.NEXT, direct.sent.peek().id, List.of(1));
        Handler handler = new ThrowingHandler();
        LOGGER.addHandler(handler);
        try {
            new FrameDecoder(Frames.MAX_LENGTH).feed(batch, 0, batch.length).forEach(direct.session::receive);
        } finally {
            LOGGER.removeHandler(handler);
        }
        assertEquals(direct.sent.peekLast().type, FrameType.CANCEL);
        assertEquals(direct.session.streamsLive(), 0);
    }
}
