package io.pyrs.link;

/**
 * The credit of one stream: the flow control of docs/protocol.md, as arithmetic alone.
 *
 * <p>The consumer end tells it what the user requested, what was observed and what was handed over; {@link #refill} answers
 * with the credit to send now. Not thread-safe: a stream's serial drain alone calls it, the others may read its numbers.
 */
final class Window {
    static final int INITIAL = 16;
    static final int GROWTH = 4;
    static final long BYTE_BUDGET = 1 << 20;
    static final int DEFAULT_MAX_PREFETCH = 16_384;

    private final int maxPrefetch;
    private final boolean exact;
    private long limit;
    private long elementsSeen;
    private long bytesSeen;
    private boolean ranEmpty;
    // Written by the drain alone; volatile because the reader checks arrivals against the grant, and stats read them.
    private volatile long requested;
    private volatile long granted;
    private long delivered;
    private long largest;

    Window(int maxPrefetch, boolean exact) {
        this.maxPrefetch = maxPrefetch;
        this.exact = exact;
        this.limit = Math.min(INITIAL, maxPrefetch);
    }

    /** The user asked for {@code n} more (rule 3.8: it adds; rule 3.17: it saturates). */
    void request(long n) {
        requested = addDemand(requested, n);
    }

    /** A batch of so many elements took {@code size} bytes; older batches count for less and less. */
    void observe(long elements, long size) {
        if (elementsSeen > maxPrefetch) {
            elementsSeen >>= 1;
            bytesSeen >>= 1;
        }
        elementsSeen += elements;
        bytesSeen += size;
        limit = Math.min(limit, affordable());
    }

    private long affordable() {
        return Math.max(1, BYTE_BUDGET * elementsSeen / bytesSeen);
    }

    /** So many elements were handed to the user. */
    void deliver(long elements) {
        delivered += elements;
    }

    /** Everything that came was handed over: the consumer keeps up. */
    void ranEmpty() {
        ranEmpty = true;
    }

    /** The credit to send now; 0 for none. */
    long refill() {
        if (requested == 0) {
            return 0; // nothing is requested upstream before the user asks
        }
        long outstanding = granted - delivered;
        boolean belowLowTide = outstanding <= limit >> 2;
        if (belowLowTide && ranEmpty) {
            limit = Math.min(limit * GROWTH, maxPrefetch);
            if (bytesSeen > 0) {
                limit = Math.min(limit, affordable());
            }
        }
        long wanted = limit - outstanding;
        if (exact && requested - granted <= wanted) {
            wanted = requested - granted;
        } else if (!belowLowTide) {
            return 0;
        }
        if (wanted <= 0) {
            return 0;
        }
        ranEmpty = false;
        granted += wanted;
        largest = Math.max(largest, outstanding + wanted);
        return wanted;
    }

    /** Whether {@link #refill} may give something: cheap enough to ask after every element. */
    boolean isLow() {
        return granted - delivered <= limit >> 2;
    }

    long granted() {
        return granted;
    }

    long delivered() {
        return delivered;
    }

    long requested() {
        return requested;
    }

    /** The largest number of elements that were granted and not handed over at one time. */
    long largest() {
        return largest;
    }

    /** Adds demand; {@code Long.MAX_VALUE} is where it stays (rule 3.17). */
    static long addDemand(long first, long second) {
        long sum = first + second;
        return sum < 0 ? Long.MAX_VALUE : sum;
    }
}
