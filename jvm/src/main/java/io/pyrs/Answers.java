package io.pyrs;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.LongPredicate;

/**
 * Makes a control call happen once, however often it arrives: Py4J sends a command again when its connection was reset. A second arrival
 * is answered with the first one's result, which is kept for a few seconds.
 */
final class Answers {
    private static final long KEPT_NANOS = TimeUnit.SECONDS.toNanos(3);

    private static final class Answer {
        final CompletableFuture<Object> result = new CompletableFuture<>();
        volatile long settled = Long.MAX_VALUE;
    }

    private final ClassLoader loader;
    private final Map<Long, Answer> answers = new LinkedHashMap<>();
    private boolean closed;

    Answers(ClassLoader loader) {
        this.loader = loader;
    }

    <T> T once(long request, Callable<T> task) throws Exception {
        Answer answer;
        boolean first;
        synchronized (answers) {
            if (closed) {
                throw new LinkClosedException("the bridge to Python is over");
            }
            answer = answers.get(request);
            first = answer == null;
            if (first) {
                answer = new Answer();
                answers.put(request, answer);
            }
        }
        if (first) {
            try {
                answer.result.complete(inContext(loader, task));
            } catch (Throwable error) {
                answer.result.completeExceptionally(error);
            }
            answer.settled = System.nanoTime();
        }
        return result(answer);
    }

    /**
     * Runs a task where the user's classes can be seen. A thread that JPype has attached has no context class loader, and neither has what it starts;
     * configurations and services are looked for with it.
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
    private static <T> T result(Answer answer) throws Exception {
        try {
            return (T) answer.result.get();
        } catch (ExecutionException thrown) {
            Throwable cause = thrown.getCause();
            if (cause instanceof Error) {
                throw (Error) cause;
            }
            throw (Exception) cause;
        }
    }

    /** Forgets what was answered a while ago: a result must not be kept alive for long. */
    void forgetOld() {
        long now = System.nanoTime();
        forget(settled -> settled != Long.MAX_VALUE && now - settled > KEPT_NANOS);
    }

    /** Forgets everything, and answers nothing more: the link is over. What an answer holds keeps the whole bridge alive. */
    void close() {
        synchronized (answers) {
            closed = true;
        }
        forget(settled -> true);
    }

    private void forget(LongPredicate old) {
        synchronized (answers) {
            answers.values().removeIf(each -> old.test(each.settled));
        }
    }

    /** How many answers are kept. */
    int size() {
        synchronized (answers) {
            return answers.size();
        }
    }
}
