package io.pyrs.link.connection;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertFalse;
import static org.testng.Assert.assertSame;
import static org.testng.Assert.assertTrue;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.testng.annotations.Test;

public class WorkerPoolTest {
    private static final int SECONDS = 30;

    @Test(timeOut = 90_000)
    public void taskBehindBlockedThreadsRunsAlsoAfterClose() throws Exception {
        int core = Math.max(4, 2 * Runtime.getRuntime().availableProcessors());
        WorkerPool pool = new WorkerPool("closing", getClass().getClassLoader(), core + 4);
        CountDownLatch blocked = new CountDownLatch(core);
        CountDownLatch release = new CountDownLatch(1);
        CountDownLatch ran = new CountDownLatch(1);
        for (int i = 0; i < core; i++) {
            pool.execute(() -> {
                blocked.countDown();
                awaitOrKeepInterrupt(release);
            });
        }
        assertTrue(blocked.await(SECONDS, TimeUnit.SECONDS));
        pool.execute(ran::countDown); // the terminal signal of another stream
        pool.close();
        assertTrue(ran.await(SECONDS, TimeUnit.SECONDS));
        release.countDown();
    }

    @Test(timeOut = 90_000)
    public void taskRunsOnItsCallerIfNoThreadCanBeStarted() {
        WorkerPool pool = pool(thread -> {
            throw new OutOfMemoryError("unable to create native thread");
        });
        AtomicReference<Thread> ranOn = new AtomicReference<>();
        pool.execute(() -> ranOn.set(Thread.currentThread()));
        assertSame(ranOn.get(), Thread.currentThread());
        assertEquals(pool.threads(), 0);
    }

    @Test(timeOut = 90_000)
    public void taskWaitsForAnotherWorkerIfItsThreadCannotBeStarted() throws Exception {
        AtomicInteger starts = new AtomicInteger();
        WorkerPool pool = pool(thread -> {
            if (starts.getAndIncrement() > 0) {
                throw new OutOfMemoryError("unable to create native thread");
            }
            thread.start();
        });
        CountDownLatch release = new CountDownLatch(1);
        CompletableFuture<Thread> first = new CompletableFuture<>();
        CompletableFuture<Thread> second = new CompletableFuture<>();
        pool.execute(() -> {
            first.complete(Thread.currentThread());
            awaitOrKeepInterrupt(release);
        });
        first.get(SECONDS, TimeUnit.SECONDS);
        pool.execute(() -> second.complete(Thread.currentThread()));
        assertEquals(pool.threads(), 1);
        release.countDown();
        assertSame(second.get(SECONDS, TimeUnit.SECONDS), first.get());
    }

    @Test(timeOut = 90_000)
    public void threadsAreStartedOutsideTheLock() throws Exception {
        AtomicReference<WorkerPool> pool = new AtomicReference<>();
        CompletableFuture<Boolean> locked = new CompletableFuture<>();
        CountDownLatch ran = new CountDownLatch(1);
        pool.set(pool(thread -> {
            Thread other = new Thread(() -> pool.get().threads());
            other.start();
            try {
                other.join(TimeUnit.SECONDS.toMillis(SECONDS));
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
            locked.complete(other.isAlive()); // the pool would catch the error of an assertion
            thread.start();
        }));
        pool.get().execute(ran::countDown);
        assertTrue(ran.await(SECONDS, TimeUnit.SECONDS));
        assertFalse(locked.get());
    }

    /** Waits for the latch, or until an interrupt, which is kept. */
    private static void awaitOrKeepInterrupt(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private WorkerPool pool(Consumer<Thread> starter) {
        return new WorkerPool("starting", getClass().getClassLoader(), 4, starter);
    }
}
