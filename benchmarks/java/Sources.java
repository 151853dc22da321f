package io.pyrs.benchmarks;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;

/** The Publishers that the benchmarks subscribe to. */
public final class Sources {
    private static final Executor FOREIGN = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "benchmark-source");
        thread.setDaemon(true);
        return thread;
    });

    private Sources() {
    }

    /** Returns a Publisher of longs from 0, which emits on the requesting thread. */
    public static GeneratedPublisher longs(long count) {
        return new GeneratedPublisher(count, Long::valueOf, Runnable::run);
    }

    /** Returns a Publisher of longs from 0, which emits on a thread unknown to Python. */
    public static GeneratedPublisher foreignLongs(long count) {
        return new GeneratedPublisher(count, Long::valueOf, FOREIGN);
    }

    /** Returns a Publisher of maps of a long, a double and a string. */
    public static GeneratedPublisher records(long count) {
        return new GeneratedPublisher(count, Sources::newRecord, Runnable::run);
    }

    /** Returns a Publisher of plain objects, which travel by reference. */
    public static GeneratedPublisher objects(long count) {
        return new GeneratedPublisher(count, index -> new Object(), Runnable::run);
    }

    /** Returns a Publisher of new byte arrays of the given size. */
    public static GeneratedPublisher chunks(long count, int size) {
        return new GeneratedPublisher(count, index -> new byte[size], Runnable::run);
    }

    /** Returns a Publisher that emits the same object repeatedly, such as an Arrow batch. */
    public static GeneratedPublisher repeated(long count, Object element) {
        return new GeneratedPublisher(count, index -> element, Runnable::run);
    }

    private static Map<String, Object> newRecord(long index) {
        Map<String, Object> row = new LinkedHashMap<>(4);
        row.put("user", index);
        row.put("rating", index * 0.5);
        row.put("title", "title " + index % 1000);
        return row;
    }
}
