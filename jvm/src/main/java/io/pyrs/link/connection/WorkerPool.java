package io.pyrs.link.connection;

import io.pyrs.Log;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * The pool of named daemon threads that run user code.
 *
 * <p>A few threads suffice as long as no task blocks. If tasks wait and no thread takes one for 10 ms, all threads count
 * as blocked in user code, and the pool grows up to its bound, doubling the number of new threads each time. A slow
 * Subscriber therefore does not delay other streams. At the bound the pool warns once, and tasks wait. Idle threads end
 * after 10 s. If the system has no more threads, tasks wait for those that exist; without any, the caller runs the task.
 */
public final class WorkerPool implements Executor {
    private static final long STUCK_MILLIS = 10;
    private static final long IDLE_SECONDS = 10;

    private final String name;
    private final ClassLoader loader;
    private final int maxThreads;
    private final int core;
    private final Consumer<Thread> starter;
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
        this(name, loader, maxThreads, Thread::start);
    }

    WorkerPool(String name, ClassLoader loader, int maxThreads, Consumer<Thread> starter) {
        this.name = name;
        this.starter = starter;
        this.loader = loader;
        this.maxThreads = maxThreads;
        this.core = Math.min(maxThreads, Math.max(4, 2 * Runtime.getRuntime().availableProcessors()));
    }

    /** Schedules a task without blocking. Called by the reader and by user threads. */
    @Override
    public void execute(Runnable task) {
        Thread worker = null;
        boolean startsMonitor = false;
        lock.lock();
        try {
            tasks.add(task);
            // Until a signalled thread wakes, the thread still counts as idle and its task as waiting.
            if (tasks.size() <= idle) {
                work.signal();
            } else if (threads < core) {
                worker = newWorker();
            } else if (threads < maxThreads && !monitoring) {
                monitoring = true;
                startsMonitor = true;
            }
        } finally {
            lock.unlock();
        }
        // The thread is started outside the lock: if the start fails, tasks may run here.
        if (worker != null) {
            start(worker);
        } else if (startsMonitor) {
            startMonitor();
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

    private Thread newWorker() {
        threads++;
        return thread(this::serve, "pyrs-" + name + "-worker-" + ++created);
    }

    /** Starts a worker. If the system has no more threads, tasks wait for a worker, or run here if there is none. */
    private void start(Thread worker) {
        try {
            starter.accept(worker);
        } catch (Throwable error) {
            Log.warning("a thread of the bridge could not be started", error);
            lock.lock();
            threads--;
            lock.unlock();
            Runnable task;
            while ((task = nextWithoutWorkers()) != null) {
                run(task);
            }
        }
    }

    private void startMonitor() {
        try {
            starter.accept(thread(this::monitor, "pyrs-" + name + "-monitor"));
        } catch (Throwable error) {
            Log.warning("a thread of the bridge could not be started", error);
            lock.lock();
            monitoring = false;
            lock.unlock();
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
            run(task);
            // A user callback may have set the interrupt flag or another class loader.
            Thread.interrupted();
            Thread.currentThread().setContextClassLoader(loader);
        }
    }

    private static void run(Runnable task) {
        try {
            task.run();
        } catch (Throwable error) {
            Log.warning("a task of the link failed", error);
        }
    }

    private Runnable nextWithoutWorkers() {
        lock.lock();
        try {
            return threads == 0 ? tasks.poll() : null;
        } finally {
            lock.unlock();
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
        try {
            int more = 1;
            List<Thread> workers;
            while ((workers = workersForStuckTasks(more)) != null) {
                workers.forEach(this::start);
                more = workers.isEmpty() ? 1 : 2 * more;
            }
        } catch (InterruptedException interrupted) {
            Log.debug("the monitor of the worker pool was interrupted", interrupted);
        }
        if (isExhausted()) {
            Log.warning("all " + maxThreads
                    + " threads of the bridge are blocked in callbacks: other streams wait until one returns");
        }
    }

    /** Waits for 10 ms and returns the workers to start: none if a task was taken, or null if the monitor ends. */
    private List<Thread> workersForStuckTasks(int most) throws InterruptedException {
        lock.lock();
        boolean continues = false;
        try {
            long before = taken;
            if (!tasks.isEmpty()) {
                stuck.awaitNanos(TimeUnit.MILLISECONDS.toNanos(STUCK_MILLIS));
            }
            List<Thread> workers = new ArrayList<>();
            for (int i = 0; taken == before && i < Math.min(most, tasks.size()) && threads < maxThreads; i++) {
                workers.add(newWorker());
            }
            continues = !tasks.isEmpty() && (taken != before || !workers.isEmpty());
            return continues ? workers : null;
        } finally {
            monitoring = continues;
            lock.unlock();
        }
    }

    /** Returns whether tasks wait although the pool is at its bound. Returns true only once. */
    private boolean isExhausted() {
        lock.lock();
        try {
            boolean exhausted = !warned && !tasks.isEmpty() && threads >= maxThreads;
            warned |= exhausted;
            return exhausted;
        } finally {
            lock.unlock();
        }
    }
}
