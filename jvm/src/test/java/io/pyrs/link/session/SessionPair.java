package io.pyrs.link.session;

import io.pyrs.LinkClosedException;
import io.pyrs.Log;
import io.pyrs.ObjectKind;
import io.pyrs.PeerProxy;
import io.pyrs.PeerReference;
import io.pyrs.link.connection.WorkerPool;
import io.pyrs.link.protocol.FrameDecoder;
import io.pyrs.link.protocol.Frames;
import io.pyrs.mirror.PythonProcessor;
import io.pyrs.mirror.PythonPublisher;
import io.pyrs.mirror.PythonSubscriber;
import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Two connected sessions without a socket, each with its reader: an object exported on one side is a mirror on the
 * other. The far side is a test double of Python.
 */
public final class SessionPair implements AutoCloseable {
    private static final byte[] END = {};

    private final WorkerPool workers = new WorkerPool("pair", SessionPair.class.getClassLoader(), 256);
    private final BlockingQueue<byte[]> toNear = new LinkedBlockingQueue<>();
    private final BlockingQueue<byte[]> toFar = new LinkedBlockingQueue<>();
    public final Session near;
    public final Session far;

    public SessionPair() {
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
                workers,
                holder[0],
                reference -> mirror(session[0], reference),
                SessionPair.class.getClassLoader(),
                4096,
                30_000,
                firstStream);
        return session[0];
    }

    private static Object mirror(Session session, PeerReference reference) {
        switch (reference.kind()) {
            case PUBLISHER:
                return new PythonPublisher(session, reference, StreamOptions.DEFAULT);
            case SUBSCRIBER:
                return new PythonSubscriber(session, reference, StreamOptions.DEFAULT);
            case PROCESSOR:
                return new PythonProcessor(session, reference, StreamOptions.DEFAULT);
            default:
                return (PeerProxy) () -> reference;
        }
    }

    private static Thread reader(BlockingQueue<byte[]> incoming, Session session) {
        Thread thread = new Thread(
                () -> {
                    FrameDecoder decoder = new FrameDecoder(Frames.MAX_LENGTH);
                    try {
                        for (byte[] bytes = incoming.take(); bytes != END; bytes = incoming.take()) {
                            decoder.feed(bytes, 0, bytes.length).forEach(session::receive);
                        }
                    } catch (InterruptedException | RuntimeException error) {
                        Log.warning("the reader of a pair ended", error);
                    }
                },
                "pair-reader");
        thread.setDaemon(true);
        return thread;
    }

    /** Returns the near side's mirror of an object of the far side. */
    public Object mirror(Object farObject, StreamOptions options) {
        ObjectKind kind = ObjectKind.of(farObject);
        PeerReference reference = near.handles().receipt(kind, far.handles().own(farObject));
        switch (kind) {
            case PUBLISHER:
                return new PythonPublisher(near, reference, options);
            case SUBSCRIBER:
                return new PythonSubscriber(near, reference, options);
            case PROCESSOR:
                return new PythonProcessor(near, reference, options);
            default:
                throw new IllegalArgumentException("no mirror for " + farObject);
        }
    }

    /** Returns the near side's reference to an object of the far side. */
    public PeerReference receipt(Object farObject) {
        return near.handles().receipt(ObjectKind.OBJECT, far.handles().own(farObject));
    }

    /** Returns the far side's reference to an object of the near side. */
    public PeerReference farReceipt(Object nearObject) {
        return far.handles().receipt(ObjectKind.OBJECT, near.handles().own(nearObject));
    }

    /** Sends the RELEASE frames of both sides for their unreachable mirrors. */
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
