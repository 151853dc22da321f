package io.pyrs.link;

import io.pyrs.link.Families.Upstream;
import io.pyrs.value.Conversion;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Objects;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * The publisher end of a stream: what a Java Publisher of either family signals, on its way to the peer.
 *
 * <p>Each element is encoded inside the {@code onNext} that brings it; nothing mutable is read afterwards. The lane calls upstream's Subscription;
 * a source that emits inside {@code request} hears of new credit, and of a cancel, from inside {@code onNext}.
 *
 * <p>The Publisher may be anybody's, so rules 1.1, 1.3, 1.7, 1.9, 2.5 and 2.13 are checked here; a breach ends this stream alone.
 */
public final class OutboundStream extends Lane implements Subscriber<Object>, Flow.Subscriber<Object> {
    static final byte[] COMPLETE = {};
    private static final Upstream DONE = new Upstream() {
        @Override
        public void request(long n) {}

        @Override
        public void cancel() {}
    };
    private static final VarHandle UPSTREAM;

    static {
        try {
            UPSTREAM = MethodHandles.lookup().findVarHandle(OutboundStream.class, "upstream", Upstream.class);
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    private final long id;
    private final Session session;
    private final Batches batches;
    private final Boxes boxes;
    private final AtomicLong credits = new AtomicLong();
    private final AtomicReference<byte[]> terminal = new AtomicReference<>();
    private volatile Upstream upstream;
    private volatile long illegalCredit = 1;
    private volatile boolean cancelled;
    /** Written by the thread that calls upstream's request. */
    private volatile long granted;
    /** Written inside the gate. */
    private long emitted;
    /** The Publisher has ended it; written inside the gate. An end after a failure of ours is legal (rule 2.8). */
    private boolean ended;
    /** Compared with the current thread only, and a thread always sees what it wrote itself. */
    private Thread requesting;
    private boolean terminalSent;

    OutboundStream(Session session, long id, Conversion conversion, Boxes boxes) {
        super(session.executor());
        this.id = id;
        this.session = session;
        this.boxes = boxes;
        this.batches = new Batches(this, session, conversion);
    }

    // Upstream's side.

    @Override
    public void onSubscribe(Subscription subscription) {
        subscribed(Families.upstream(Objects.requireNonNull(subscription, "rule 2.13: onSubscribe(null)")));
    }

    @Override
    public void onSubscribe(Flow.Subscription subscription) {
        subscribed(Families.upstream(Objects.requireNonNull(subscription, "rule 2.13: onSubscribe(null)")));
    }

    private void subscribed(Upstream candidate) {
        if (terminal.get() != null || !UPSTREAM.compareAndSet(this, (Upstream) null, candidate)) {
            candidate.cancel(); // rule 2.5
            return;
        }
        if (cancelled || credits.get() != 0 || illegalCredit <= 0) {
            schedule();
        }
    }

    /** Encodes and queues one element. */
    @Override
    public void onNext(Object element) {
        if (!batches.enter()) {
            fail(concurrent("onNext"));
            return;
        }
        boolean full = false;
        boolean called;
        Throwable failure = null;
        try {
            if (terminal.get() != null || cancelled) {
                session.dropped(1);
                batches.discard(element);
            } else if (element == null) {
                failure = new NullPointerException("rule 2.13: onNext(null), null is no element");
            } else if (emitted >= granted) {
                failure = exceeded();
            } else {
                full = batches.add(element);
                if (boxes != null) {
                    boxes.note(element);
                }
                full |= ++emitted == granted;
            }
        } catch (Throwable error) {
            failure = error;
        } finally {
            called = batches.leave();
        }
        if (failure != null) {
            fail(failure);
            // Thrown as well: what is the caller's fault (rule 2.13), and the end of the JVM.
            if (element == null) {
                throw (NullPointerException) failure;
            } else if (failure instanceof VirtualMachineError) {
                throw (VirtualMachineError) failure;
            }
        } else if (full) {
            session.outbox().ready(batches);
            session.outbox().flush();
        } else if (called || !batches.isQueued()) {
            session.outbox().ready(batches);
            session.outbox().nudge();
        }
        if (requesting == Thread.currentThread()) {
            relay();
        }
    }

    @Override
    public void onError(Throwable error) {
        if (error == null) {
            NullPointerException violation = new NullPointerException("rule 2.13: onError(null)");
            fail(violation);
            throw violation;
        }
        if (!enterTerminal("onError")) {
            return;
        }
        try {
            if (ended) {
                Log.warning("stream " + id + ": rule 1.7: onError after a terminal signal was ignored", error);
            } else {
                ended = true;
                terminate(session.codec().encodeError(error));
            }
        } finally {
            batches.leave();
        }
        terminated();
    }

    @Override
    public void onComplete() {
        if (!enterTerminal("onComplete")) {
            return;
        }
        try {
            if (ended) {
                Log.warning("stream " + id + ": rule 1.7: onComplete after a terminal signal was ignored");
            } else {
                ended = true;
                terminate(COMPLETE);
            }
        } finally {
            batches.leave();
        }
        terminated();
    }

    private boolean enterTerminal(String signal) {
        if (batches.enter()) {
            return true;
        }
        fail(concurrent(signal));
        return false;
    }

    /** Upstream has ended by itself: there is nothing to cancel any more. */
    private void terminated() {
        upstream = DONE;
        session.outbox().ready(batches);
        session.outbox().flush();
    }

    private IllegalStateException exceeded() {
        return upstream == null && granted == 0
                ? new IllegalStateException("rules 1.1 and 1.9: onNext before onSubscribe, and without demand")
                : new IllegalStateException("rule 1.1: onNext number " + (emitted + 1) + " where " + granted
                        + " elements were requested");
    }

    private static IllegalStateException concurrent(String signal) {
        return new IllegalStateException(
                "rule 1.3: " + signal + " was called while another signal of the same stream was being handled");
    }

    private boolean terminate(byte[] last) {
        return terminal.compareAndSet(null, last);
    }

    /** The Publisher broke a rule or an element cannot travel: ends this stream alone, and cancels upstream. */
    private void fail(Throwable error) {
        if (!terminate(session.codec().encodeError(error))) {
            Log.warning("stream " + id + " is over already", error);
            return;
        }
        // The terminal is published before the stream is marked ready; the writer reads it before it empties the buffers.
        session.outbox().ready(batches);
        session.outbox().flush();
        if (requesting == Thread.currentThread()) {
            cancelUpstream();
        } else {
            schedule();
        }
    }

    /** On the thread that is inside upstream's request: passes on what came meanwhile. */
    private void relay() {
        if (cancelled) {
            cancelUpstream();
        } else if (credits.get() != 0) {
            Upstream current = upstream;
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

    // The reader's side: it only notes.

    /** REQUEST came. */
    void requested(long n) {
        if (n <= 0) {
            illegalCredit = n;
        } else {
            credits.accumulateAndGet(n, Window::addDemand);
        }
        schedule();
    }

    /** CANCEL came, or the link is over: nothing more is written, upstream is cancelled. */
    void cancelled() {
        cancelled = true;
        schedule();
    }

    /** The Publisher could not be subscribed to (rule 1.9): its Subscriber hears so. */
    void refused(Throwable error) {
        fail(error);
    }

    // The lane: it calls upstream's Subscription.

    @Override
    void work() {
        if (cancelled || terminal.get() != null) {
            cancelUpstream();
            return;
        }
        Upstream current = upstream;
        if (current == null) {
            return; // what came is held until onSubscribe
        }
        requesting = Thread.currentThread();
        try {
            if (illegalCredit <= 0) {
                fail(new IllegalArgumentException("rule 3.9: a REQUEST for " + illegalCredit + " elements came over the link"));
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
                session.outbox().ready(batches);
                session.outbox().flush();
            }
        }
    }

    @Override
    void failed(Throwable error) {
        fail(error);
    }

    private void cancelUpstream() {
        Upstream current = (Upstream) UPSTREAM.getAndSet(this, DONE);
        if (cancelled) {
            // Nobody waits for what is left, and nothing of it may keep an object alive (rule 3.13).
            session.outbox().ready(batches);
            session.outbox().flush();
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

    // The writer's side.

    long id() {
        return id;
    }

    boolean isCancelled() {
        return cancelled;
    }

    byte[] terminal() {
        return terminal.get();
    }

    /** True once: the terminal is to be written now, and the stream is over. */
    boolean claimTerminal() {
        if (terminalSent) {
            return false;
        }
        terminalSent = true;
        session.ended(this);
        return true;
    }

    /** Credit that the peer gave and upstream has not used. */
    long inFlight() {
        return Math.max(0, granted - emitted);
    }

    @Override
    public String toString() {
        String state = cancelled ? "cancelled" : terminal.get() != null ? "ended" : upstream == null ? "starting" : "live";
        return "OutboundStream[" + id + ", " + state + ", " + emitted + " of " + granted + " granted elements]";
    }
}
