package io.pyrs.link.connection;

import io.pyrs.Log;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
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
    private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final String name;
    private final ClassLoader loader;
    private final int maxThreads;
    private final int core;
    private final Consumer<Thread> starter;
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
        synchronized (this) {
            tasks.add(task);
            // Until a notified thread wakes, the thread still counts as idle and its task as waiting.
            if (tasks.size() <= idle) {
                notify(); // only workers wait
            } else if (threads < core) {
                worker = newWorker();
            } else if (threads < maxThreads && !monitoring) {
                monitoring = true;
                startsMonitor = true;
            }
        }
        // The thread is started outside the lock: if the start fails, tasks may run here.
        if (worker != null) {
            start(worker);
        } else if (startsMonitor) {
            startMonitor();
        }
    }

    /** Ends the threads that become idle. Waiting tasks still run: they include the terminal signals of streams. */
    public synchronized void close() {
        closed = true;
        notifyAll();
    }

    synchronized int threads() {
        return threads;
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
            synchronized (this) {
                threads--;
            }
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
            endMonitor();
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

    private synchronized Runnable nextWithoutWorkers() {
        return threads == 0 ? tasks.poll() : null;
    }

    private synchronized Runnable next() {
        long end = System.nanoTime() + IDLE_NANOS;
        while (tasks.isEmpty()) {
            long left = end - System.nanoTime();
            if (closed || left <= 0) {
                threads--;
                return null;
            }
            idle++;
            try {
                TimeUnit.NANOSECONDS.timedWait(this, left);
            } catch (InterruptedException interrupted) {
                end = System.nanoTime() + IDLE_NANOS;
            }
            idle--;
        }
        taken++;
        return tasks.poll();
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
            endMonitor();
        }
        if (isExhausted()) {
            Log.warning("all " + maxThreads
                    + " threads of the bridge are blocked in callbacks: other streams wait until one returns");
        }
    }

    private synchronized void endMonitor() {
        monitoring = false;
    }

    /** Waits for 10 ms and returns the workers to start: none if a task was taken, or null if the monitor ends. */
    private List<Thread> workersForStuckTasks(int most) throws InterruptedException {
        long before;
        synchronized (this) {
            before = tasks.isEmpty() ? -1 : taken;
        }
        Thread.sleep(STUCK_MILLIS);
        synchronized (this) {
            monitoring = false; // also if a worker cannot be created
            List<Thread> workers = new ArrayList<>();
            for (int i = 0; taken == before && i < Math.min(most, tasks.size()) && threads < maxThreads; i++) {
                workers.add(newWorker());
            }
            monitoring = !tasks.isEmpty() && (taken != before || !workers.isEmpty());
            return monitoring ? workers : null;
        }
    }

    /** Returns whether tasks wait although the pool is at its bound. Returns true only once. */
    private synchronized boolean isExhausted() {
        boolean exhausted = !warned && !tasks.isEmpty() && threads >= maxThreads;
        warned |= exhausted;
        return exhausted;
    }
}
