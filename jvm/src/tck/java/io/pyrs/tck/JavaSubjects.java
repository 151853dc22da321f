package io.pyrs.tck;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** Stores the Java objects to verify, such as the mirrors of a bridge, until a hook takes them. */
final class JavaSubjects {
    private static final Map<Long, Object> OBJECTS = new ConcurrentHashMap<>();
    private static final AtomicLong LATEST = new AtomicLong();

    private JavaSubjects() {}

    static long register(Object object) {
        var number = LATEST.incrementAndGet();
        OBJECTS.put(number, object);
        return number;
    }

    static Object take(long number) {
        return OBJECTS.remove(number);
    }
}
