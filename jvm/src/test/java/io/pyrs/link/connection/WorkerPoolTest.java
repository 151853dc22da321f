package io.pyrs.link.connection;

import static org.testng.Assert.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
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
                try {
                    release.await();
                } catch (InterruptedException interrupted) {
                    Thread.currentThread().interrupt();
                }
            });
        }
        assertTrue(blocked.await(SECONDS, TimeUnit.SECONDS));
        pool.execute(ran::countDown); // the terminal signal of another stream
        pool.close();
        assertTrue(ran.await(SECONDS, TimeUnit.SECONDS));
        release.countDown();
    }
}
