package io.pyrs.link.session;

import io.pyrs.link.protocol.Frame;
import io.pyrs.link.protocol.FrameDecoder;
import io.pyrs.link.protocol.Frames;
import java.util.ArrayDeque;

/** A session without a socket or threads: tasks run on the calling thread, and written frames are recorded. */
final class DirectSession {
    final ArrayDeque<Frame> sent = new ArrayDeque<>();
    final Session session;
    private final FrameDecoder decoder = new FrameDecoder(Frames.MAX_LENGTH);
    private final Outbox outbox;

    DirectSession(int maxPrefetch) {
        outbox = new Outbox(
                new Outbox.Sink() {
                    @Override
                    public void write(byte[] bytes, int offset, int length) {
                        sent.addAll(decoder.feed(bytes, offset, length));
                    }

                    @Override
                    public void flush() {}
                },
                this::wake);
        outbox.open();
        session = new Session(
                Runnable::run,
                outbox,
                reference -> reference,
                DirectSession.class.getClassLoader(),
                maxPrefetch,
                1_000,
                2);
    }

    private void wake() {
        outbox.write();
    }
}
