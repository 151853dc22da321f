package io.pyrs.link.session;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.JJ_Result;

/** Races of the drain loop, the outbox, the table of handles and the window. Each class documents its invariant. */
public class Races {
    /** Counts the processed work items, and records whether two threads drained at the same time. */
    static class Adding extends DrainLoop {
        final AtomicInteger pending = new AtomicInteger();
        int taken; // not volatile: only the draining thread accesses it
        int inside;
        boolean overlapped;

        Adding() {
            super(Runnable::run);
        }

        @Override
        void drain() {
            overlapped |= ++inside != 1;
            taken += pending.getAndSet(0);
            inside--;
        }

        @Override
        void fail(Throwable error) {
            overlapped = true;
        }

        void submit() {
            pending.incrementAndGet();
            schedule();
        }
    }

    /** Two threads submit work: both items are processed, by one thread at a time, which sees the plain fields. */
    @JCStressTest
    @Outcome(id = "2, 0", expect = ACCEPTABLE, desc = "both work items were processed")
    @Outcome(expect = FORBIDDEN, desc = "work was lost, or two threads drained")
    @State
    public static class DrainLoopRace extends Adding {
        @Actor
        public void first() {
            submit();
        }

        @Actor
        public void second() {
            submit();
        }

        @Arbiter
        public void end(II_Result result) {
            result.r1 = taken;
            result.r2 = overlapped ? 1 : 0;
        }
    }

    /** Two threads write frames: each frame is written once, and writes do not overlap. */
    @JCStressTest
    @Outcome(id = "3, 0", expect = ACCEPTABLE, desc = "every frame was written")
    @Outcome(expect = FORBIDDEN, desc = "a frame was lost or repeated, or two threads wrote")
    @State
    public static class OutboxRace implements Outbox.Sink {
        private int written;
        private int inside;
        private boolean overlapped;
        private final Outbox outbox = new Outbox(this, () -> {});

        public OutboxRace() {
            outbox.open();
        }

        @Override
        public void write(byte[] bytes, int offset, int length) {
            overlapped |= ++inside != 1;
            written++;
            inside--;
        }

        @Override
        public void flush() {}

        @Actor
        public void first() {
            outbox.control(new byte[1]);
            outbox.flush();
        }

        @Actor
        public void second() {
            outbox.control(new byte[1]);
            outbox.flush();
            outbox.control(new byte[1]);
            outbox.flush();
        }

        @Arbiter
        public void end(II_Result result) {
            outbox.write(); // as the writer thread does after a refused flush has woken it
            result.r1 = written;
            result.r2 = overlapped ? 1 : 0;
        }
    }

    /** A source becomes ready while it is taken: no element is left in the source. */
    @JCStressTest
    @Outcome(id = "2, 0", expect = ACCEPTABLE, desc = "every element was written")
    @Outcome(expect = FORBIDDEN, desc = "an element stays in a source that is not queued")
    @State
    public static class ReadyRace implements Outbox.Sink {
        private final ConcurrentLinkedQueue<byte[]> elements = new ConcurrentLinkedQueue<>();
        private final AtomicInteger written = new AtomicInteger();
        private final Outbox outbox = new Outbox(this, () -> {});
        private final Outbox.Source source = new Outbox.Source() {
            @Override
            boolean take(Outbox box) {
                byte[] element = elements.poll();
                if (element != null) {
                    box.writeFrame(element, 0, element.length);
                }
                return !elements.isEmpty();
            }
        };

        public ReadyRace() {
            outbox.open();
        }

        @Override
        public void write(byte[] bytes, int offset, int length) {
            written.incrementAndGet();
        }

        @Override
        public void flush() {}

        private void emit() {
            elements.add(new byte[1]);
            outbox.ready(source);
            outbox.flush();
        }

        @Actor
        public void first() {
            emit();
        }

        @Actor
        public void second() {
            emit();
        }

        @Arbiter
        public void end(II_Result result) {
            outbox.write();
            result.r1 = written.get();
            result.r2 = elements.size();
        }
    }

    /** A handle is sent while its last receipt is released: the receipts are exact, and the table is empty at the end. */
    @JCStressTest
    @Outcome(
            id = {"1, 1, 0", "2, 1, 0"},
            expect = ACCEPTABLE,
            desc = "the same or a new handle, which resolves")
    @Outcome(expect = FORBIDDEN, desc = "a handle that was sent does not resolve, or an entry is left")
    @State
    public static class HandlesRace {
        private final Object target = new Object();
        private final Handles handles = new Handles(reference -> null);
        private long sent;

        public HandlesRace() {
            handles.own(target);
        }

        @Actor
        public void own() {
            sent = handles.own(target);
        }

        @Actor
        public void release() {
            handles.receiveRelease(1, 1);
        }

        @Arbiter
        public void end(III_Result result) {
            result.r1 = (int) sent;
            result.r2 = handles.find(sent) == target ? 1 : 0;
            handles.receiveRelease(sent, 1);
            result.r3 = handles.find(sent) == null ? 0 : 1;
        }
    }

    /** Two frames claim one Subscriber (rules 2.5 and 2.12): exactly one claim succeeds. */
    @JCStressTest
    @Outcome(
            id = {"1, 0", "0, 1"},
            expect = ACCEPTABLE,
            desc = "one claim succeeded")
    @Outcome(expect = FORBIDDEN, desc = "both claims succeeded, or none")
    @State
    public static class ClaimRace {
        private final Handles handles = new Handles(reference -> null);
        private final long handle = handles.own(new Flow.Subscriber<Object>() {
            @Override
            public void onSubscribe(Flow.Subscription subscription) {}

            @Override
            public void onNext(Object element) {}

            @Override
            public void onError(Throwable error) {}

            @Override
            public void onComplete() {}
        });

        @Actor
        public void first(II_Result result) {
            result.r1 = handles.claimSubscriber(handle) == null ? 0 : 1;
        }

        @Actor
        public void second(II_Result result) {
            result.r2 = handles.claimSubscriber(handle) == null ? 0 : 1;
        }
    }

    /** The reader reads the granted total twice while the drain loop grants: each value is whole, and the second is not older. */
    @JCStressTest
    @Outcome(
            id = {"0, 0", "0, 16", "16, 16"},
            expect = ACCEPTABLE,
            desc = "before or after the grant")
    @Outcome(expect = FORBIDDEN, desc = "a torn or an older grant")
    @State
    public static class WindowRace {
        private final Window window = new Window(1_024, false);

        @Actor
        public void drainLoop() {
            window.request(5);
            window.refill();
        }

        @Actor
        public void reader(JJ_Result result) {
            result.r1 = window.granted();
            result.r2 = window.granted();
        }
    }
}
