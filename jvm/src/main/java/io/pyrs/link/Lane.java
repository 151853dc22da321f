package io.pyrs.link;

import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A serial lane: {@link #work} runs on whichever thread the executor gives it, never twice at once, with no lock held.
 *
 * <p>To schedule a lane that runs already costs one increment: it looks again before it ends.
 */
abstract class Lane implements Runnable {
    private final Executor executor;
    private final AtomicInteger scheduled = new AtomicInteger();

    Lane(Executor executor) {
        this.executor = executor;
    }

    /** Does what there is to do. */
    abstract void work();

    /** Ends the stream: {@link #work} threw, which only a fault of ours or a hostile object of the user's can cause. */
    abstract void failed(Throwable error);

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
                work();
            } catch (Throwable error) {
                fail(error);
            }
            seen = scheduled.addAndGet(-seen);
        } while (seen != 0);
    }

    /** Whatever happens, the count of {@link #scheduled} must go down: a lane that keeps it never runs again. */
    private void fail(Throwable error) {
        try {
            failed(error);
        } catch (Throwable again) {
            Log.warning("the failure of a stream could not be signalled", again);
        }
    }
}
