package io.pyrs.link.session;

import io.pyrs.Log;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import io.pyrs.value.ValueDecoder;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * The consumer end of a stream: delivers signals from the peer to a Java Subscriber on demand. It is a Subscription
 * of both families.
 *
 * <p>The reader adds batches and user threads add demand. The drain loop decodes and delivers elements, refills the
 * window and ends the stream.
 *
 * <p>Rules: 1.1 (a batch beyond the credit ends the stream), 1.3 and 1.7 (one drain loop), 2.13 (a Subscriber that
 * throws is cancelled), 3.3 (a request inside onNext only adds demand), 3.5 to 3.9, 3.13 (the end drops every
 * reference), 3.16, 3.17.
 */
public final class InboundStream extends DrainLoop implements Subscription, Flow.Subscription {
    private static final Object COMPLETED = new Object();
    private static final long NONE = Long.MAX_VALUE;
    private static final long[] NO_PINS = {};

    /** A received batch, and the handles of the local objects in it. */
    private static final class ReceivedBatch {
        final byte[] body;
        final long[] pins;

        ReceivedBatch(byte[] body, long[] pins) {
            this.body = body;
            this.pins = pins;
        }
    }

    private final long id;
    private final Session session;
    private final Window window;
    private final ValueDecoder decoder;
    private final IntegerBoxing boxes;
    /** Receives the dropped elements; null if their references are only released. */
    private final Consumer<Object> discards;

    private final Queue<ReceivedBatch> batches = new ConcurrentLinkedQueue<>();
    private final AtomicLong requests = new AtomicLong();
    private final AtomicLong illegalRequest = new AtomicLong(NONE);
    private final AtomicReference<Object> terminal = new AtomicReference<>();
    private final AtomicBoolean cancelSent = new AtomicBoolean();
    private volatile Subscriber<Object> downstream;
    private volatile Throwable lost;
    private volatile boolean started;
    private volatile boolean cancelled;
    private volatile boolean ended;
    /** Written by the reader only. */
    private volatile long received;
    /** The number of undelivered elements of the batch. Used by the drain loop only, like the fields below. */
    private int left;

    private long[] pins = NO_PINS;
    private boolean unreadable;
    private long demand;

    InboundStream(Session session, long id, Subscriber<Object> downstream, StreamOptions options) {
        super(session.executor());
        this.id = id;
        this.session = session;
        this.downstream = downstream;
        this.window = new Window(session.maxPrefetch(), options.exact());
        this.decoder = new ValueDecoder(session.handles(), options.elementType());
        this.boxes = options.boxes();
        this.discards = ReactorDiscards.of(downstream);
    }

    // Called by user threads.

    /** Calls onSubscribe. No other signal is emitted before it returns (rules 1.3, 1.9). */
    void start() {
        try {
            downstream.onSubscribe(this);
        } catch (Throwable error) {
            // Rule 2.13: the Subscriber counts as cancelled, so it cannot receive the error.
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

    /** Cancels the stream. CANCEL is sent at once, even while onNext runs. */
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

    // Called by the reader, which only records signals.

    /** Processes NEXT, or NEXT_HOME if {@code home} is set: the batch may then contain local objects. */
    void receiveBatch(byte[] body, boolean home) {
        received += Frames.batchSize(body);
        if (terminal.get() != null || cancelled) {
            // Elements beyond the credit are only released: Python could fill the queue with them.
            if (discards == null || terminal.get() != null || received > window.granted()) {
                session.codec().discard(body);
            } else {
                queueBatch(body, home); // the drain loop passes the elements to the functions for dropped elements
            }
            return;
        }
        if (received > window.granted()) {
            session.codec().discard(body);
            reject(new IllegalStateException("rule 1.1: the Publisher in Python sent " + received + " elements, but "
                    + window.granted() + " were granted"));
            return;
        }
        queueBatch(body, home);
    }

    private void queueBatch(byte[] body, boolean home) {
        // The drain loop decodes the batch later, after a RELEASE of its handles may have been processed.
        long[] pinned = home ? ValueDecoder.homeHandles(body) : NO_PINS;
        session.handles().pin(pinned);
        batches.add(new ReceivedBatch(body, pinned));
        // If the drain loop has ended the stream in the meantime, the scheduled run drops the batch.
        schedule();
    }

    /** Processes COMPLETE (null) or ERROR. */
    void receiveTerminal(Throwable error) {
        if (terminal.compareAndSet(null, error == null ? COMPLETED : error)) {
            schedule();
        }
    }

    /** Rejects the stream: the Subscriber receives the error after onSubscribe. */
    void reject(Throwable error) {
        sendCancel();
        session.outbox().wakeWriter();
        receiveTerminal(error);
    }

    /** Ends the stream because the link ended: delivers buffered elements up to the demand, and drops the others. */
    void linkLost(Throwable error) {
        lost = error;
        schedule();
    }

    // The drain loop.

    @Override
    void drain() {
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
            // Rule 2.13: a Subscriber that throws is cancelled, and its error is logged.
            Log.warning("stream " + id + ": onNext of the Subscriber threw, so it is cancelled", error);
            cancel();
        }
        if (cancelled) {
            end(null);
        } else if (illegalRequest.get() != NONE) {
            sendCancel();
            session.outbox().flush();
            finish(new IllegalArgumentException(
                    "rule 3.9: request(" + illegalRequest.get() + "), a Subscriber must request at least one element"));
        } else if (left == 0 && batches.isEmpty()) {
            endOrRefill(delivered);
        } else if (lost != null && demand == 0 && requests.get() == 0) {
            finish(lost);
        }
    }

    @Override
    void fail(Throwable error) {
        Log.warning("stream " + id + " failed", error);
        if (!ended) {
            sendCancel();
            session.outbox().flush();
            finish(error);
        }
    }

    private void endOrRefill(boolean delivered) {
        Throwable linkError = lost; // read before the terminal signal, which has precedence if it was received first
        Object last = terminal.get();
        if (last != null) {
            // All batches received before the terminal signal are in the queue now.
            if (batches.isEmpty()) {
                finish(last == COMPLETED ? null : (Throwable) last);
            } else {
                schedule();
            }
        } else if (linkError != null) {
            finish(linkError);
        } else if (delivered) {
            window.ranEmpty();
            refill();
        }
    }

    /** Delivers elements while there is demand, and refills the window. Returns whether an element was delivered. */
    private boolean deliver() {
        Subscriber<Object> subscriber = downstream;
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
        ReceivedBatch batch = batches.poll();
        if (batch == null) {
            return false;
        }
        pins = batch.pins;
        try {
            left = decoder.beginBatch(batch.body);
        } catch (RuntimeException error) {
            failDecoding(error);
            return false;
        }
        window.observe(left, batch.body.length);
        return true;
    }

    /** Returns the next element; null if it cannot be converted to Java, which ends the stream. */
    private Object next() {
        left--;
        try {
            Object element = decoder.next();
            if (element == null) {
                throw new NullPointerException("rule 2.13: the Publisher in Python sent None, which is not an element");
            }
            return boxes == null ? element : boxes.restore(element);
        } catch (RuntimeException error) {
            failDecoding(error);
            return null;
        }
    }

    /** Ends the stream with the error of a batch that cannot be decoded, and cancels the Publisher. */
    private void failDecoding(RuntimeException error) {
        sendCancel();
        session.outbox().flush();
        unreadable = true;
        logPending(terminal.getAndSet(error), null);
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
        Subscriber<Object> subscriber = downstream;
        try {
            end(error);
        } finally { // discarding the elements may throw an Error
            try {
                if (error == null) {
                    subscriber.onComplete();
                } else {
                    subscriber.onError(error);
                }
            } catch (Throwable raised) {
                Log.warning("stream " + id + ": onError or onComplete of the Subscriber threw", raised);
            }
        }
    }

    /**
     * Drops every reference (rule 3.13); undelivered elements are counted and their handles released. Logs an error that
     * was received, unless it is {@code signal}, the one for the Subscriber.
     */
    private void end(Throwable signal) {
        ended = true;
        downstream = null;
        try {
            session.dropped(dropBatches());
        } finally { // decoding or discarding an element may throw an Error
            session.ended(this);
        }
        logPending(terminal.get(), signal);
    }

    private void logPending(Object last, Throwable signal) {
        if (last instanceof Throwable && last != signal) {
            Session.logLate(id, (Throwable) last);
        }
    }

    private int dropBatches() {
        int dropped = discardElements();
        dropped += left;
        left = 0;
        try {
            decoder.releaseRest(handle -> session.handles().recordRelease(handle, 1));
        } catch (RuntimeException malformed) {
            Log.debug("a dropped batch could not be decoded", malformed);
        }
        unpin();
        ReceivedBatch batch;
        while ((batch = batches.poll()) != null) {
            dropped += Frames.batchSize(batch.body);
            session.codec().discard(batch.body);
            pins = batch.pins;
            unpin();
        }
        return dropped;
    }

    /** Decodes the dropped elements for the functions that receive them, and returns their number. */
    private int discardElements() {
        int count = 0;
        while (discards != null && !unreadable && (left > 0 || openBatch())) {
            Object element = next();
            if (element == null) {
                break; // the others are only released
            }
            count++;
            discards.accept(element);
        }
        return count;
    }

    /** Returns whether the stream is cancelled and granted elements may still arrive for {@link #discards}. */
    boolean discardsLate() {
        return cancelled && discards != null && received < window.granted();
    }

    private void unpin() {
        session.handles().unpin(pins);
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

    /** Returns the number of elements that are granted and not delivered. */
    long inFlight() {
        return ended ? 0 : window.granted() - window.delivered();
    }

    /** Returns the unfulfilled demand of the user. */
    long demand() {
        return ended ? 0 : Math.max(0, window.requested() - window.delivered());
    }

    @Override
    public String toString() {
        String state = cancelled ? "cancelled" : ended ? "ended" : started ? "live" : "starting";
        return "InboundStream[" + id + ", " + state + ", demand " + demand() + ", in flight " + inFlight() + "]";
    }
}
