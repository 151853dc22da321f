package io.pyrs.link;

import io.pyrs.link.Families.Downstream;
import io.pyrs.value.ValueDecoder;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.reactivestreams.Subscription;

/**
 * The consumer end of a stream: what arrives from the peer, handed to a Java Subscriber under its demand. It is the Subscription of both families.
 *
 * <p>The reader adds batches, the user's threads add demand; the lane alone does the rest: it decodes, hands elements over, keeps the
 * window filled and ends the stream.
 *
 * <p>Rules: 1.1 (a batch beyond the credit ends the stream), 1.3 and 1.7 (one lane), 2.13 (a Subscriber that throws is cancelled), 3.3 (a
 * request from inside onNext only adds), 3.5 to 3.9, 3.13 (every reference is dropped at the end), 3.16, 3.17.
 */
public final class InboundStream extends Lane implements Subscription, Flow.Subscription {
    private static final Object COMPLETED = new Object();
    private static final long NONE = Long.MAX_VALUE;
    private static final long[] NO_PINS = {};

    /** A batch that has come, and our own objects that it brings home. */
    private static final class Arrived {
        final byte[] body;
        final long[] pins;

        Arrived(byte[] body, long[] pins) {
            this.body = body;
            this.pins = pins;
        }
    }

    private final long id;
    private final Session session;
    private final Window window;
    private final ValueDecoder decoder;
    private final Boxes boxes;
    private final Queue<Arrived> batches = new ConcurrentLinkedQueue<>();
    private final AtomicLong requests = new AtomicLong();
    private final AtomicLong illegalRequest = new AtomicLong(NONE);
    private final AtomicReference<Object> terminal = new AtomicReference<>();
    private final AtomicBoolean cancelSent = new AtomicBoolean();
    private volatile Downstream downstream;
    private volatile Throwable lost;
    private volatile boolean started;
    private volatile boolean cancelled;
    private volatile boolean ended;
    /** The reader's. */
    private long received;
    /** The lane's: elements of the open batch that are not handed over. */
    private int left;
    private long[] pins = NO_PINS;
    private boolean unreadable;
    private long demand;

    InboundStream(Session session, long id, Downstream downstream, StreamOptions options) {
        super(session.executor());
        this.id = id;
        this.session = session;
        this.downstream = downstream;
        this.window = new Window(options.maxPrefetch(session.maxPrefetch()), options.exact());
        this.decoder = new ValueDecoder(session.handles(), options.elementType());
        this.boxes = options.boxes();
    }

    // The user's side: any thread.

    /** Gives the Subscriber its Subscription; nothing else is signalled before that has returned (rules 1.3, 1.9). */
    void start() {
        try {
            downstream.onSubscribe(this);
        } catch (Throwable error) {
            // Rule 2.13: it is cancelled, and nothing can be signalled to it.
            Log.warning("stream " + id + ": onSubscribe of the Subscriber threw", error);
            cancel();
        }
        started = true;
        schedule();
    }

    @Override
    public void request(long n) {
        if (cancelled || ended) {
            return;
        }
        if (n <= 0) {
            illegalRequest.compareAndSet(NONE, n);
        } else {
            requests.accumulateAndGet(n, Window::addDemand);
        }
        schedule();
    }

    /** Stops. CANCEL is sent at once, even while the Subscriber is busy in onNext. */
    @Override
    public void cancel() {
        if (cancelled || ended) {
            return;
        }
        cancelled = true;
        sendCancel();
        session.outbox().flush();
        schedule();
    }

    private void sendCancel() {
        if (cancelSent.compareAndSet(false, true) && session.isOpen()) {
            session.outbox().control(Frames.frame(FrameType.CANCEL, id, Frames.NOTHING));
        }
    }

    // The reader's side: it only notes.

    /** NEXT or NEXT_HOME came. */
    void arrived(byte[] body, boolean home) {
        int elements = Frames.batchSize(body);
        if (terminal.get() != null || cancelled) {
            session.discard(body);
            return;
        }
        received += elements;
        if (received > window.granted()) {
            session.discard(body);
            sendCancel();
            session.outbox().nudge();
            terminated(new IllegalStateException("rule 1.1: the Publisher in Python sent " + received + " elements where "
                    + window.granted() + " were granted"));
            return;
        }
        // It is read later, on the lane, and the handles' RELEASE may be the next frame: so they are held from here on.
        long[] brought = home ? ValueDecoder.homeHandles(body) : NO_PINS;
        session.handles().pin(brought);
        batches.add(new Arrived(body, brought));
        // The lane may have ended the stream between the look above and here: it looks at the queue once more then.
        schedule();
    }

    /** COMPLETE (null) or ERROR came. */
    void terminated(Throwable error) {
        if (terminal.compareAndSet(null, error == null ? COMPLETED : error)) {
            schedule();
        }
    }

    /** The stream cannot be opened: the Subscriber gets the error behind its Subscription. */
    void refused(Throwable error) {
        sendCancel();
        session.outbox().nudge();
        terminated(error);
    }

    /** The link is over: what has demand is handed over, the rest is dropped. */
    void lost(Throwable error) {
        lost = error;
        schedule();
    }

    // The lane.

    @Override
    void work() {
        if (ended || unreadable) {
            session.dropped(dropBatches());
        }
        if (!started || ended) {
            return;
        }
        boolean delivered = false;
        try {
            delivered = deliver();
        } catch (Throwable error) {
            // Rule 2.13: a Subscriber that throws is cancelled, and its error reported.
            Log.warning("stream " + id + ": onNext of the Subscriber threw, so it is cancelled", error);
            cancel();
        }
        if (cancelled) {
            end();
        } else if (illegalRequest.get() != NONE) {
            sendCancel();
            session.outbox().flush();
            finish(new IllegalArgumentException(
                    "rule 3.9: request(" + illegalRequest.get() + "), a Subscriber must ask for one element at least"));
        } else if (left == 0 && batches.isEmpty()) {
            endOrRefill(delivered);
        } else if (lost != null && demand == 0 && requests.get() == 0) {
            finish(lost);
        }
    }

    @Override
    void failed(Throwable error) {
        Log.warning("stream " + id + " failed", error);
        if (!ended) {
            sendCancel();
            session.outbox().flush();
            finish(error);
        }
    }

    private void endOrRefill(boolean delivered) {
        Throwable over = lost; // before the terminal: one that came before the link's end counts
        Object last = terminal.get();
        if (last != null) {
            // The terminal was seen; a batch that came before it is in the queue by now.
            if (batches.isEmpty()) {
                finish(last == COMPLETED ? null : (Throwable) last);
            } else {
                schedule();
            }
        } else if (over != null) {
            finish(over);
        } else if (delivered) {
            window.ranEmpty();
            refill();
        }
    }

    /** Hands over what there is demand for, and keeps the window filled. */
    private boolean deliver() {
        Downstream subscriber = downstream;
        boolean delivered = false;
        while (!cancelled && illegalRequest.get() == NONE) {
            long more = requests.get() == 0 ? 0 : requests.getAndSet(0);
            if (more > 0) {
                window.request(more);
                demand = Window.addDemand(demand, more);
            }
            refill();
            if (left == 0 && !openBatch()) {
                break;
            }
            if (demand == 0) {
                break;
            }
            do {
                Object element = next();
                if (element == null) {
                    return delivered;
                }
                demand--;
                subscriber.onNext(element);
                window.deliver(1);
                delivered = true;
                if (window.isLow()) {
                    refill();
                }
            } while (left > 0 && demand > 0 && !cancelled && requests.get() == 0);
        }
        return delivered;
    }

    private boolean openBatch() {
        if (unreadable) {
            return false;
        }
        unpin();
        Arrived batch = batches.poll();
        if (batch == null) {
            return false;
        }
        byte[] body = batch.body;
        pins = batch.pins;
        try {
            left = decoder.beginBatch(body, 0, body.length);
        } catch (RuntimeException error) {
            unreadable(error);
            return false;
        }
        window.observe(left, body.length);
        return true;
    }

    /** The next element; null if it has no form in Java, which ends the stream. */
    private Object next() {
        left--;
        try {
            Object element = decoder.next();
            if (element == null) {
                throw new NullPointerException("rule 2.13: the Publisher in Python sent None, which is no element");
            }
            return boxes == null ? element : boxes.restore(element);
        } catch (RuntimeException error) {
            unreadable(error);
            return null;
        }
    }

    /** What cannot be read ends the stream with an error that says so; Python stops sending. */
    private void unreadable(RuntimeException error) {
        sendCancel();
        session.outbox().flush();
        unreadable = true;
        terminal.set(error);
        session.dropped(dropBatches());
    }

    private void refill() {
        long credit = window.refill();
        if (credit > 0 && session.isOpen()) {
            session.outbox().control(Frames.request(id, credit));
            session.outbox().flush();
        }
    }

    private void finish(Throwable error) {
        Downstream subscriber = downstream;
        end();
        try {
            if (error == null) {
                subscriber.onComplete();
            } else {
                subscriber.onError(error);
            }
        } catch (Throwable raised) {
            Log.warning("stream " + id + ": the Subscriber's terminal signal threw", raised);
        }
    }

    /** Drops every reference (rule 3.13); what was not handed over is counted and given back. */
    private void end() {
        ended = true;
        downstream = null;
        session.dropped(dropBatches());
        session.ended(this);
    }

    private int dropBatches() {
        int dropped = left;
        left = 0;
        try {
            decoder.releaseRest(session::giveBack);
        } catch (RuntimeException malformed) {
            Log.debug("a dropped batch could not be read", malformed);
        }
        unpin();
        Arrived batch;
        while ((batch = batches.poll()) != null) {
            dropped += Frames.batchSize(batch.body);
            session.discard(batch.body);
            pins = batch.pins;
            unpin();
        }
        return dropped;
    }

    private void unpin() {
        for (long handle : pins) {
            session.handles().released(handle, 1);
        }
        pins = NO_PINS;
    }

    long id() {
        return id;
    }

    long delivered() {
        return window.delivered();
    }

    long largestInFlight() {
        return window.largest();
    }

    /** Elements granted and not yet handed over. */
    long inFlight() {
        return ended ? 0 : window.granted() - window.delivered();
    }

    /** What the user requested and has not got. */
    long demand() {
        return ended ? 0 : Math.max(0, window.requested() - window.delivered());
    }

    @Override
    public String toString() {
        String state = cancelled ? "cancelled" : ended ? "ended" : started ? "live" : "starting";
        return "InboundStream[" + id + ", " + state + ", demand " + demand() + ", in flight " + inFlight() + "]";
    }
}
