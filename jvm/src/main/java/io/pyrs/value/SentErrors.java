package io.pyrs.value;

import io.pyrs.Limits;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/** The last 1,024 Throwables that a bridge sent, to return the same object when Python sends one back. */
public final class SentErrors {
    static final int CAPACITY = Limits.of("error.originals");

    private final Map<Long, Throwable> byId = new LinkedHashMap<>();
    private final Map<Throwable, Long> ids = new IdentityHashMap<>();
    private long last;

    /** Keeps an error until 1,024 others were sent after it, and returns its number. */
    public synchronized long keep(Throwable original) {
        Long known = ids.remove(original);
        long id = known == null ? ++last : known;
        byId.remove(id); // the insertion below makes it the youngest
        byId.put(id, original);
        ids.put(original, id);
        if (byId.size() > CAPACITY) {
            Long eldest = byId.keySet().iterator().next();
            ids.remove(byId.remove(eldest));
        }
        return id;
    }

    /** Returns the error with this number, or null if it is no longer kept. */
    public synchronized Throwable find(long id) {
        return byId.get(id);
    }

    /** Drops all errors when the bridge closes. */
    public synchronized void clear() {
        byId.clear();
        ids.clear();
    }

    public synchronized int size() {
        return byId.size();
    }
}
