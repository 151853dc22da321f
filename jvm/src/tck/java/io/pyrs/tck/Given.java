package io.pyrs.tck;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** Objects of Java's that are to be judged themselves, such as the mirrors of a bridge: until the kit asks for them. */
final class Given {
    private static final Map<Long, Object> OBJECTS = new ConcurrentHashMap<>();
    private static final AtomicLong LATEST = new AtomicLong();

    private Given() {}

    static long number(Object object) {
        var number = LATEST.incrementAndGet();
        OBJECTS.put(number, object);
        return number;
    }

    static Object take(long number) {
        return OBJECTS.remove(number);
    }
}
