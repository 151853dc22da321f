package io.pyrs.link.session;

import io.pyrs.Limits;

/**
 * The flow control of one stream, as docs/protocol.md specifies it, without I/O.
 *
 * <p>The consumer end records requests, received batches and delivered elements; {@link #refill} returns the credit to
 * send. Not thread-safe: only the stream's drain loop modifies it, other threads may read its counters.
 */
final class Window {
    static final int INITIAL = Limits.of("window.initial");
    static final int GROWTH = Limits.of("window.growth");
    static final long BYTE_BUDGET = Limits.of("window.bytes");
    /** The smallest window for large elements, so that one is received while the previous one is processed. */
    private static final long SMALLEST = 2;

    private final int maxPrefetch;
    private final boolean exact;
    private long limit;
    private long elementsSeen;
    private long bytesSeen;
    private boolean ranEmpty;
    // Written by the drain loop only; volatile for the reader, which checks batches against the grant, and for stats.
    private volatile long requested;
    private volatile long granted;
    // Not volatile: statistics may contain an earlier value.
    private long delivered;
    private long largest;

    Window(int maxPrefetch, boolean exact) {
        this.maxPrefetch = maxPrefetch;
        this.exact = exact;
        this.limit = Math.min(INITIAL, maxPrefetch);
    }

    /** Adds {@code n} to the demand of the user (rules 3.8, 3.17). */
    void request(long n) {
        requested = addDemand(requested, n);
    }

    /** Records the size of a batch in elements and bytes. The weight of older batches decays. */
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
        return Math.max(SMALLEST, BYTE_BUDGET * elementsSeen / bytesSeen);
    }

    /** Records elements delivered to the user. */
    void deliver(long elements) {
        delivered += elements;
    }

    /** Records that all received elements were delivered: the consumer keeps up. */
    void ranEmpty() {
        ranEmpty = true;
    }

    /** Returns the credit to send now, which may be 0. */
    long refill() {
        if (requested == 0) {
            return 0; // no credit before the first request of the user
        }
        long outstanding = granted - delivered;
        boolean belowLowWaterMark = outstanding <= lowWaterMark();
        if (belowLowWaterMark && ranEmpty) {
            limit = Math.min(limit * GROWTH, maxPrefetch);
            if (bytesSeen > 0) {
                limit = Math.min(limit, affordable());
            }
        }
        long wanted = limit - outstanding;
        if (exact && requested - granted <= wanted) {
            wanted = requested - granted;
        } else if (!belowLowWaterMark) {
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

    /** Returns whether {@link #refill} may return credit. It is cheap enough to call after each element. */
    boolean isLow() {
        return granted - delivered <= lowWaterMark();
    }

    /** Returns a quarter of the window, but 1 for a window of two or three elements. */
    private long lowWaterMark() {
        return limit < 4 ? limit >> 1 : limit >> 2;
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

    /** Returns the largest number of elements that were granted and not delivered at one time. */
    long largest() {
        return largest;
    }

    /** Adds demand, saturating at {@code Long.MAX_VALUE} (rule 3.17). */
    static long addDemand(long first, long second) {
        long sum = first + second;
        return sum < 0 ? Long.MAX_VALUE : sum;
    }
}
