package io.pyrs.link.session;

import io.pyrs.Log;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import io.pyrs.value.Conversion;
import java.util.Objects;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * The publisher end of a stream: sends the signals of a Java Publisher of either family to the peer.
 *
 * <p>Each element is encoded inside {@code onNext}; nothing mutable is read afterwards. The drain loop calls the
 * upstream Subscription. A source that emits inside {@code request} receives further credit, or a cancel, while it
 * calls {@code onNext}.
 *
 * <p>A third-party Publisher may break the rules, so 1.1, 1.3, 1.7, 1.9, 2.5 and 2.13 are checked here. A violation
 * affects only this stream.
 */
public final class OutboundStream extends DrainLoop implements Subscriber<Object>, Flow.Subscriber<Object> {
    static final byte[] COMPLETE = {};
    private static final Subscription DONE = new Families.BothFamiliesSubscription(n -> {}, () -> {}, "done");

    private final long id;
    private final Session session;
    private final OutboundBatches batches;
    private final IntegerBoxing boxes;
    private final AtomicLong credits = new AtomicLong();
    private final AtomicReference<byte[]> terminal = new AtomicReference<>();
    private final AtomicReference<Subscription> upstream = new AtomicReference<>();
    private volatile long illegalCredit = 1;
    private volatile boolean cancelled;
    /** Written by the thread that calls request of the upstream Subscription. */
    private volatile long granted;
    /** Accessed inside the gate. */
    private long emitted;
    /**
     * The Publisher has sent its terminal signal, which is legal after this side failed (rule 2.8). Accessed inside the
     * gate.
     */
    private boolean ended;
    /** SUBSCRIBED must be sent once the credit that has arrived has been requested. */
    private volatile boolean confirms;
    /** The thread inside request of the upstream. Not volatile: a thread only compares it with itself. */
    private Thread requesting;

    private boolean terminalSent;

    OutboundStream(Session session, long id, Conversion conversion, IntegerBoxing boxes) {
        super(session.executor());
        this.id = id;
        this.session = session;
        this.boxes = boxes;
        this.batches = new OutboundBatches(this, session, conversion);
    }

    // Called by the Publisher.

    @Override
    public void onSubscribe(Subscription subscription) {
        Objects.requireNonNull(subscription, "rule 2.13: onSubscribe(null)");
        if (terminal.get() != null || !upstream.compareAndSet(null, subscription)) {
            subscription.cancel(); // rule 2.5
            return;
        }
        if (cancelled || credits.get() != 0 || illegalCredit <= 0) {
            schedule();
        }
    }

    @Override
    public void onSubscribe(Flow.Subscription subscription) {
        onSubscribe(Families.subscription(Objects.requireNonNull(subscription, "rule 2.13: onSubscribe(null)")));
    }

    /** Encodes one element and marks the stream as ready to be written. */
    @Override
    public void onNext(Object element) {
        if (element == null) {
            NullPointerException violation =
                    new NullPointerException("rule 2.13: onNext(null), null is not an element");
            fail(violation);
            throw violation;
        }
        if (!batches.enter()) {
            fail(concurrent("onNext"));
            return;
        }
        boolean full = false;
        boolean writerWaits;
        Throwable failure = null;
        try {
            if (terminal.get() != null || cancelled) {
                session.dropped(1);
                batches.discard(element);
            } else if (emitted >= granted) {
                failure = exceeded();
            } else {
                full = batches.add(element);
                if (boxes != null) {
                    boxes.record(element);
                }
                full |= ++emitted == granted;
            }
        } catch (Throwable error) {
            failure = error;
        } finally {
            writerWaits = batches.leave();
        }
        if (failure != null) {
            fail(failure); // does nothing if another thread has failed the stream, whose writer may wait for the gate
        }
        if (full) {
            flush();
        } else if (writerWaits || failure == null && !batches.isQueued()) {
            session.outbox().ready(batches);
            session.outbox().wakeWriter();
        }
        if (failure instanceof VirtualMachineError) {
            throw (VirtualMachineError) failure;
        }
        if (requesting == Thread.currentThread()) {
            forwardToUpstream();
        }
    }

    @Override
    public void onError(Throwable error) {
        if (error == null) {
            NullPointerException violation = new NullPointerException("rule 2.13: onError(null)");
            fail(violation);
            throw violation;
        }
        end("onError", error);
    }

    @Override
    public void onComplete() {
        end("onComplete", null);
    }

    /** Sends the terminal signal of the Publisher, which needs no cancel any more. */
    private void end(String signal, Throwable error) {
        if (!batches.enter()) {
            fail(concurrent(signal));
            return;
        }
        try {
            if (ended) {
                Log.warning("stream " + id + ": rule 1.7: " + signal + " after a terminal signal was ignored", error);
            } else if (error != null && cancelled) {
                Session.logLate(id, error);
            } else {
                ended = true;
                terminate(error == null ? COMPLETE : session.codec().encodeError(error));
            }
        } finally {
            batches.leave();
        }
        upstream.set(DONE);
        flush();
    }

    private IllegalStateException exceeded() {
        return upstream.get() == null && granted == 0
                ? new IllegalStateException("rules 1.1 and 1.9: onNext before onSubscribe, and without demand")
                : new IllegalStateException(
                        "rule 1.1: onNext number " + (emitted + 1) + ", but " + granted + " elements were requested");
    }

    private static IllegalStateException concurrent(String signal) {
        return new IllegalStateException(
                "rule 1.3: " + signal + " was called while another signal of the same stream was being handled");
    }

    private void flush() {
        session.outbox().ready(batches);
        session.outbox().flush();
    }

    private boolean terminate(byte[] last) {
        return terminal.compareAndSet(null, last);
    }

    /** Ends only this stream after a violation or a value that cannot be converted, and cancels upstream. */
    @Override
    void fail(Throwable error) {
        if (cancelled) {
            Session.logLate(id, error);
            return;
        }
        if (!terminate(session.codec().encodeError(error))) {
            Log.warning("stream " + id + " has ended already", error);
            return;
        }
        // The terminal signal is set before the stream is marked as ready, so the writer does not miss it.
        flush();
        if (requesting == Thread.currentThread()) {
            cancelUpstream();
        } else {
            schedule();
        }
    }

    /** Forwards credit or a cancel that arrived while this thread is inside request of the upstream Subscription. */
    private void forwardToUpstream() {
        sendConfirmation(); // request may return as late as at the end of the stream
        if (cancelled) {
            cancelUpstream();
        } else if (credits.get() != 0) {
            Subscription current = upstream.get();
            long n = takeCredit();
            if (n > 0 && current != null) {
                current.request(n);
            }
        }
    }

    private long takeCredit() {
        long n = credits.getAndSet(0);
        if (n > 0) {
            granted = Window.addDemand(granted, n);
        }
        return n;
    }

    // Called by the reader, which only records signals.

    /** Processes REQUEST. */
    void receiveRequest(long n) {
        if (n <= 0) {
            illegalCredit = n;
        } else {
            credits.accumulateAndGet(n, Window::addDemand);
        }
        schedule();
    }

    /** Processes CANCEL or the end of the link: stops writing and cancels upstream. */
    void receiveCancel() {
        cancelled = true;
        schedule();
    }

    // Called by the task that subscribes to the Publisher.

    /**
     * Sends SUBSCRIBED after the credit that has arrived was requested. Before that, a Publisher that emits
     * independently of demand would drop an element, or fail.
     */
    void confirm() {
        confirms = true;
        schedule();
    }

    private void sendConfirmation() {
        if (confirms) {
            confirms = false;
            session.outbox().control(Frames.frame(FrameType.SUBSCRIBED, id, Frames.NOTHING));
            session.outbox().flush();
        }
    }

    // The drain loop, which calls the upstream Subscription.

    @Override
    void drain() {
        boolean confirming = confirms; // read before the credit
        forwardSignals();
        if (confirming) {
            sendConfirmation();
        }
    }

    private void forwardSignals() {
        if (cancelled || terminal.get() != null) {
            cancelUpstream();
            return;
        }
        Subscription current = upstream.get();
        if (current == null) {
            return; // credit is kept until onSubscribe
        }
        requesting = Thread.currentThread();
        try {
            if (illegalCredit <= 0) {
                fail(new IllegalArgumentException(
                        "rule 3.9: a REQUEST for " + illegalCredit + " elements was received"));
                return;
            }
            long n = takeCredit();
            if (n > 0) {
                current.request(n);
            }
        } catch (Throwable error) {
            fail(error); // rule 3.16: request returns normally
        } finally {
            requesting = null;
            if (!batches.isEmpty()) {
                flush();
            }
        }
    }

    private void cancelUpstream() {
        Subscription current = upstream.getAndSet(DONE);
        if (cancelled) {
            // The writer drops the buffered elements, which must not keep objects reachable (rule 3.13).
            flush();
            session.ended(this);
        }
        if (current != null && current != DONE) {
            try {
                current.cancel();
            } catch (Throwable error) {
                Log.warning("stream " + id + ": cancel threw, which rule 3.15 forbids", error);
            }
        }
    }

    // Called by the writer.

    long id() {
        return id;
    }

    boolean isCancelled() {
        return cancelled;
    }

    byte[] terminal() {
        return terminal.get();
    }

    /** Ends the stream with an error after buffered elements were lost, even if the Publisher has ended it. */
    void loseElements(Throwable error) {
        terminal.set(session.codec().encodeError(error));
        schedule();
    }

    /** Ends the stream when its terminal signal is about to be written. Returns false for later calls. */
    boolean claimTerminal() {
        if (terminalSent) {
            return false;
        }
        terminalSent = true;
        session.ended(this);
        return true;
    }

    // State, for any thread.

    /** Returns the credit that the Publisher has not used. */
    long inFlight() {
        return Math.max(0, granted - emitted);
    }

    @Override
    public String toString() {
        String state = cancelled
                ? "cancelled"
                : terminal.get() != null ? "ended" : upstream.get() == null ? "starting" : "live";
        return "OutboundStream[" + id + ", " + state + ", " + emitted + " of " + granted + " granted elements]";
    }
}
