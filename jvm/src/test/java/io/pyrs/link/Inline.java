package io.pyrs.link;

import java.util.ArrayDeque;

/** A session without socket and threads: tasks run where they arise, and what it would write is kept as frames. */
final class Inline {
    final ArrayDeque<Frame> sent = new ArrayDeque<>();
    final Session session;
    private final FrameDecoder decoder = new FrameDecoder(Frames.MAX_LENGTH);
    private final Outbox outbox;

    Inline(int maxPrefetch) {
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
                Runnable::run, outbox, reference -> reference, Inline.class.getClassLoader(), maxPrefetch, 1_000);
    }

    private void wake() {
        outbox.write();
    }
}
