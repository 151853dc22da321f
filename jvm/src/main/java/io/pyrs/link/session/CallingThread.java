package io.pyrs.link.session;

import io.pyrs.Classes;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Set;

/** Detects threads that must not wait in a write. Reflection finds Thread.isVirtual, since the jar supports Java 11. */
final class CallingThread {
    /** {@code Thread.isVirtual}, or null before Java 21. */
    private static final MethodHandle IS_VIRTUAL = find();

    /** The interfaces with which Reactor and RxJava mark their threads that must not block. */
    private static final Set<String> NON_BLOCKING =
            Set.of("reactor.core.scheduler.NonBlocking", "io.reactivex.rxjava3.internal.schedulers.NonBlockingThread");

    private static final ClassValue<Boolean> IS_NON_BLOCKING =
            Classes.cached(type -> Classes.nearest(type, NON_BLOCKING) != null);

    private CallingThread() {}

    private static MethodHandle find() {
        try {
            return MethodHandles.publicLookup()
                    .findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
        } catch (ReflectiveOperationException olderJava) {
            return null;
        }
    }

    /** Returns whether the current thread may wait in a write to the socket. */
    static boolean mayBlock() {
        return !isNonBlocking() && !isVirtual();
    }

    /** Returns whether the current thread is one of Reactor or RxJava that must not block. */
    static boolean isNonBlocking() {
        return IS_NON_BLOCKING.get(Thread.currentThread().getClass());
    }

    private static boolean isVirtual() {
        try {
            return IS_VIRTUAL != null && (boolean) IS_VIRTUAL.invokeExact(Thread.currentThread());
        } catch (Throwable impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
