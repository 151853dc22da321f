package io.pyrs.benchmarks;

/** What the JVM holds on to. */
public final class Memory {
    private Memory() {
    }

    /** The bytes of the heap that survive a collection. */
    public static long live() {
        Runtime runtime = Runtime.getRuntime();
        runtime.gc();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    /** The process id of this JVM. */
    public static long process() {
        return ProcessHandle.current().pid();
    }
}
