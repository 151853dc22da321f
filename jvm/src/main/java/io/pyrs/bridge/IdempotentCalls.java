package io.pyrs.bridge;

import io.pyrs.Limits;
import io.pyrs.LinkClosedException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.LongPredicate;

/**
 * Executes each control call once, although Py4J sends a command again after a connection reset. A repeated call gets
 * the result of the first, which is kept for a few seconds.
 */
final class IdempotentCalls {
    private static final long KEPT_NANOS = TimeUnit.MILLISECONDS.toNanos(Limits.of("control.answer_ms"));

    private static final class KeptResult extends FutureTask<Object> {
        /** The time of the result (System.nanoTime); Long.MAX_VALUE while the call runs. */
        volatile long settled = Long.MAX_VALUE;

        KeptResult(Callable<Object> task) {
            super(task);
        }

        @Override
        protected void done() {
            settled = System.nanoTime();
        }
    }

    private final ClassLoader loader;
    private final Map<Long, KeptResult> results = new LinkedHashMap<>();
    private boolean closed;
    /** Accessed by the writer thread only. */
    private long lastForgotten = System.nanoTime();

    IdempotentCalls(ClassLoader loader) {
        this.loader = loader;
    }

    <T> T once(long request, Callable<T> task) throws Exception {
        KeptResult kept;
        synchronized (results) {
            if (closed) {
                throw new LinkClosedException("the bridge to Python has ended");
            }
            kept = results.computeIfAbsent(request, first -> new KeptResult(() -> inContext(loader, task)));
        }
        kept.run(); // has no effect for a repeated request
        return result(kept);
    }

    /**
     * Runs a task, with {@code loader} as the context class loader if the thread has none. Libraries use it to find
     * configurations and services. A thread that JPype attached has none, and the threads that it starts inherit none.
     */
    static <T> T inContext(ClassLoader loader, Callable<T> task) throws Exception {
        Thread thread = Thread.currentThread();
        if (thread.getContextClassLoader() != null) {
            return task.call();
        }
        thread.setContextClassLoader(loader);
        try {
            return task.call();
        } finally {
            thread.setContextClassLoader(null);
        }
    }

    @SuppressWarnings("unchecked")
    private static <T> T result(KeptResult kept) throws Exception {
        try {
            return (T) kept.get();
        } catch (ExecutionException thrown) {
            Throwable cause = thrown.getCause();
            if (cause instanceof Error) {
                throw (Error) cause;
            }
            throw (Exception) cause;
        }
    }

    /**
     * Drops the results that are older than control.answer_ms, so that the objects in them can be collected. Called by
     * the writer thread after each write, and therefore reads the results only a few times in control.answer_ms.
     */
    void forgetOld() {
        long now = System.nanoTime();
        if (now - lastForgotten > KEPT_NANOS / 4) {
            lastForgotten = now;
            forget(settled -> settled != Long.MAX_VALUE && now - settled > KEPT_NANOS);
        }
    }

    /** Drops all results and rejects further calls. A kept result would keep the whole bridge reachable. */
    void close() {
        synchronized (results) {
            closed = true;
        }
        forget(settled -> true);
    }

    private void forget(LongPredicate old) {
        synchronized (results) {
            results.values().removeIf(each -> old.test(each.settled));
        }
    }

    int size() {
        synchronized (results) {
            return results.size();
        }
    }
}
