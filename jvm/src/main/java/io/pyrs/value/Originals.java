package io.pyrs.value;

import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/** The last 1,024 Throwables that this side sent, so that one that comes home is the same object. One for a bridge. */
public final class Originals {
    static final int CAPACITY = 1024;

    private final Map<Long, Throwable> byId = new LinkedHashMap<>();
    private final Map<Throwable, Long> ids = new IdentityHashMap<>();
    private long last;

    /** The number of an error, kept until 1,024 others were sent after it. */
    public synchronized long keep(Throwable original) {
        Long known = ids.remove(original);
        long id = known == null ? ++last : known;
        byId.remove(id); // to the young end
        byId.put(id, original);
        ids.put(original, id);
        if (byId.size() > CAPACITY) {
            Long eldest = byId.keySet().iterator().next();
            ids.remove(byId.remove(eldest));
        }
        return id;
    }

    /** The error with that number, or null if it was forgotten. */
    public synchronized Throwable find(long id) {
        return byId.get(id);
    }

    /** Forgets them all: the bridge is closed. */
    public synchronized void clear() {
        byId.clear();
        ids.clear();
    }

    /** How many are kept. */
    public synchronized int size() {
        return byId.size();
    }
}
