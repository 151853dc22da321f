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

    /** Does what there is to do; must not throw. */
    abstract void work();

    final void schedule() {
        if (scheduled.getAndIncrement() == 0) {
            executor.execute(this);
        }
    }

    @Override
    public final void run() {
        int seen = scheduled.get();
        do {
            work();
            seen = scheduled.addAndGet(-seen);
        } while (seen != 0);
    }
}
