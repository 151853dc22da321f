package io.pyrs.link;

import io.pyrs.LinkClosedException;
import io.pyrs.mirror.PythonProcessor;
import io.pyrs.mirror.PythonPublisher;
import io.pyrs.mirror.PythonSubscriber;
import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Two sessions back to back, each with its reader and workers, and no socket: what is exported on one side is a mirror on the other. The far
 * side plays Python, in Java.
 */
public final class Pair implements AutoCloseable {
    private static final byte[] END = {};

    private final Workers workers = new Workers("pair", Pair.class.getClassLoader(), 256);
    private final BlockingQueue<byte[]> toNear = new LinkedBlockingQueue<>();
    private final BlockingQueue<byte[]> toFar = new LinkedBlockingQueue<>();
    public final Session near;
    public final Session far;

    public Pair() {
        near = session(toFar, 2);
        far = session(toNear, 1);
        reader(toNear, near).start();
        reader(toFar, far).start();
    }

    private Session session(BlockingQueue<byte[]> outgoing, int firstStream) {
        AtomicBoolean woken = new AtomicBoolean();
        Outbox[] holder = new Outbox[1];
        holder[0] = new Outbox(
                new Outbox.Sink() {
                    @Override
                    public void write(byte[] bytes, int offset, int length) {
                        outgoing.add(Arrays.copyOfRange(bytes, offset, offset + length));
                    }

                    @Override
                    public void flush() {}
                },
                () -> {
                    if (woken.compareAndSet(false, true)) {
                        workers.execute(() -> {
                            woken.set(false);
                            holder[0].write();
                        });
                    }
                });
        holder[0].open();
        Session[] session = new Session[1];
        session[0] = new Session(
                workers, holder[0], reference -> mirror(session[0], reference), Pair.class.getClassLoader(), 4096, 30_000,
                firstStream);
        return session[0];
    }

    private static Object mirror(Session session, Reference reference) {
        switch (reference.kind()) {
            case 1:
                return new PythonPublisher(session, reference, StreamOptions.DEFAULT);
            case 2:
                return new PythonSubscriber(session, reference, StreamOptions.DEFAULT);
            case 3:
                return new PythonProcessor(session, reference, StreamOptions.DEFAULT);
            default:
                return (StandIn) () -> reference;
        }
    }

    private static Thread reader(BlockingQueue<byte[]> incoming, Session session) {
        Thread thread = new Thread(() -> {
            FrameDecoder decoder = new FrameDecoder(Frames.MAX_LENGTH);
            try {
                for (byte[] bytes = incoming.take(); bytes != END; bytes = incoming.take()) {
                    decoder.feed(bytes, 0, bytes.length).forEach(session::receive);
                }
            } catch (InterruptedException | RuntimeException error) {
                Log.warning("the reader of a pair ended", error);
            }
        }, "pair-reader");
        thread.setDaemon(true);
        return thread;
    }

    /** The near side's mirror of an object of the far side. */
    public Object mirror(Object farObject, StreamOptions options) {
        int kind = Families.kindOf(farObject);
        Reference reference = near.receipt(kind, far.own(farObject));
        switch (kind) {
            case 1:
                return new PythonPublisher(near, reference, options);
            case 2:
                return new PythonSubscriber(near, reference, options);
            case 3:
                return new PythonProcessor(near, reference, options);
            default:
                throw new IllegalArgumentException("no mirror for " + farObject);
        }
    }

    /** A receipt of the near side for any object of the far side. */
    public Reference receipt(Object farObject) {
        return near.receipt(0, far.own(farObject));
    }

    /** Has both sides send back the handles that they do not need any more. */
    public void release() {
        for (Session session : new Session[] {near, far}) {
            session.handles().releaseFrames().forEach(session.outbox()::control);
            session.outbox().write();
        }
    }

    public int streams() {
        return near.streamsLive() + far.streamsLive();
    }

    public int owned() {
        return near.handles().ownedCount() + far.handles().ownedCount();
    }

    @Override
    public void close() {
        near.lost(new LinkClosedException("closed"));
        far.lost(new LinkClosedException("closed"));
        toNear.add(END);
        toFar.add(END);
        workers.close();
    }
}
