package io.pyrs.benchmarks;

/** The memory of the JVM. */
public final class Memory {
    private Memory() {
    }

    /** Returns the bytes of the heap that survive a collection. */
    public static long live() {
        Runtime runtime = Runtime.getRuntime();
        runtime.gc();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    /** Returns the process id of this JVM. */
    public static long process() {
        return ProcessHandle.current().pid();
    }
}
