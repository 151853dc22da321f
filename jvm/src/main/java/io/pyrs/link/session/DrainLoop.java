package io.pyrs.link.session;

import io.pyrs.Log;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Serializes work: {@link #drain} runs on a thread of the executor, on one thread at a time, with no lock held.
 *
 * <p>Scheduling a running loop costs one increment: the loop then drains again before {@link #run} returns.
 */
abstract class DrainLoop implements Runnable {
    private final Executor executor;
    private final AtomicInteger scheduled = new AtomicInteger();

    DrainLoop(Executor executor) {
        this.executor = executor;
    }

    abstract void drain();

    /** Ends the stream after {@link #drain} threw, because of an internal error or a misbehaving object of the user. */
    abstract void fail(Throwable error);

    final void schedule() {
        if (scheduled.getAndIncrement() == 0) {
            executor.execute(this);
        }
    }

    @Override
    public final void run() {
        int seen = scheduled.get();
        do {
            try {
                drain();
            } catch (Throwable error) {
                failSafely(error);
            }
            seen = scheduled.addAndGet(-seen);
        } while (seen != 0);
    }

    /** Reports an error without throwing, since a loop that does not reset {@link #scheduled} never runs again. */
    private void failSafely(Throwable error) {
        try {
            fail(error);
        } catch (Throwable again) {
            Log.warning("the failure of a stream could not be signalled", again);
        }
    }
}
