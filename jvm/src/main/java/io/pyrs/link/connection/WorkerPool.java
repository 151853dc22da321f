package io.pyrs.link.connection;

import io.pyrs.Log;
import java.util.ArrayDeque;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The pool of named daemon threads that run user code.
 *
 * <p>A few threads suffice as long as no task blocks. If tasks wait and no thread takes one for 10 ms, all threads are
 * blocked in user code, and the pool grows up to its bound, doubling the number of new threads each time. A slow
 * Subscriber therefore does not delay other streams. At the bound the pool warns once, and tasks wait. Idle threads end
 * after 10 s.
 */
public final class WorkerPool implements Executor {
    private static final long STUCK_MILLIS = 10;
    private static final long IDLE_SECONDS = 10;

    private final String name;
    private final ClassLoader loader;
    private final int maxThreads;
    private final int core;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition work = lock.newCondition();
    private final Condition stuck = lock.newCondition();
    private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
    private int threads;
    private int idle;
    private int created;
    private long taken;
    private boolean monitoring;
    private boolean warned;
    private boolean closed;

    public WorkerPool(String name, ClassLoader loader, int maxThreads) {
        this.name = name;
        this.loader = loader;
        this.maxThreads = maxThreads;
        this.core = Math.min(maxThreads, Math.max(4, 2 * Runtime.getRuntime().availableProcessors()));
    }

    /** Schedules a task without blocking. Called by the reader and by user threads. */
    @Override
    public void execute(Runnable task) {
        lock.lock();
        try {
            tasks.add(task);
            // A signalled thread counts as idle until it wakes, and its task as waiting, so both sides agree.
            if (tasks.size() <= idle) {
                work.signal();
            } else if (threads < core) {
                startThread();
            } else if (threads < maxThreads) {
                startMonitor();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Ends the threads that become idle. Waiting tasks still run: they include the terminal signals of streams. */
    public void close() {
        lock.lock();
        try {
            closed = true;
            work.signalAll();
        } finally {
            lock.unlock();
        }
    }

    int threads() {
        lock.lock();
        try {
            return threads;
        } finally {
            lock.unlock();
        }
    }

    private void startThread() {
        threads++;
        thread(this::serve, "pyrs-" + name + "-worker-" + ++created).start();
    }

    private void startMonitor() {
        if (!monitoring) {
            monitoring = true;
            thread(this::monitor, "pyrs-" + name + "-monitor").start();
        }
    }

    private Thread thread(Runnable body, String threadName) {
        Thread thread = new Thread(null, body, threadName, 0, false);
        thread.setDaemon(true);
        thread.setContextClassLoader(loader);
        return thread;
    }

    private void serve() {
        Runnable task;
        while ((task = next()) != null) {
            try {
                task.run();
            } catch (Throwable error) {
                Log.warning("a task of the link failed", error);
            }
            // A user callback may have set the interrupt flag or another class loader.
            Thread.interrupted();
            Thread.currentThread().setContextClassLoader(loader);
        }
    }

    private Runnable next() {
        lock.lock();
        try {
            long left = TimeUnit.SECONDS.toNanos(IDLE_SECONDS);
            while (tasks.isEmpty()) {
                if (closed || left <= 0) {
                    threads--;
                    return null;
                }
                idle++;
                try {
                    left = work.awaitNanos(left);
                } catch (InterruptedException interrupted) {
                    left = TimeUnit.SECONDS.toNanos(IDLE_SECONDS);
                }
                idle--;
            }
            taken++;
            return tasks.poll();
        } finally {
            lock.unlock();
        }
    }

    /** Starts more threads while tasks wait and no thread takes one. */
    private void monitor() {
        lock.lock();
        try {
            int more = 1;
            while (!tasks.isEmpty()) {
                long before = taken;
                stuck.awaitNanos(TimeUnit.MILLISECONDS.toNanos(STUCK_MILLIS));
                if (taken != before || tasks.isEmpty()) {
                    more = 1;
                    continue;
                }
                for (int i = 0; i < Math.min(more, tasks.size()) && threads < maxThreads; i++) {
                    startThread();
                }
                more *= 2;
                if (threads >= maxThreads) {
                    warnOnce();
                    return;
                }
            }
        } catch (InterruptedException interrupted) {
            Log.debug("the monitor of the worker pool was interrupted", interrupted);
        } finally {
            monitoring = false;
            lock.unlock();
        }
    }

    private void warnOnce() {
        if (!warned) {
            warned = true;
            Log.warning("all " + maxThreads
                    + " threads of the bridge are blocked in callbacks: other streams wait until one returns");
        }
    }
}
