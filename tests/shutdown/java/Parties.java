import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/** The Java side of the tests of shutdown and invalid input: Publishers and Subscribers that count signals, block, or break rules. */
public final class Parties {
    private static final Map<String, Object> SHARED = new ConcurrentHashMap<>();

    private Parties() { }

    /** Stores an object that another Python process fetches with {@link #shared}. */
    public static void share(String name, Object value) { SHARED.put(name, value); }

    public static Object shared(String name) { return SHARED.get(name); }

    /** Emits 0, 1, 2, ... up to the demand, on the thread that requests. */
    public static final class Range implements Publisher<Long> {
        private final long count;
        public final AtomicLong emitted = new AtomicLong();
        public final CountDownLatch cancelled = new CountDownLatch(1);
        private volatile boolean subscribed;

        public Range(long count) { this.count = count; }

        public boolean awaitCancelled(long millis) throws InterruptedException {
            return cancelled.await(millis, TimeUnit.MILLISECONDS);
        }

        public long emitted() { return emitted.get(); }

        public boolean subscribed() { return subscribed; }

        @Override public void subscribe(Subscriber<? super Long> subscriber) {
            subscribed = true;
            subscriber.onSubscribe(new Subscription() {
                private final AtomicLong demand = new AtomicLong();
                private long next;
                private volatile boolean terminated;

                @Override public void request(long n) {
                    if (demand.getAndAccumulate(n, (a, b) -> a + b < 0 ? Long.MAX_VALUE : a + b) != 0) return;
                    long credit = n;
                    do {
                        for (long i = 0; i < credit && !terminated; i++) {
                            if (next == count) {
                                terminated = true;
                                subscriber.onComplete();
                                return;
                            }
                            emitted.incrementAndGet();
                            subscriber.onNext(next++);
                        }
                        credit = demand.addAndGet(-credit);
                    } while (credit != 0 && !terminated);
                }

                @Override public void cancel() {
                    terminated = true;
                    cancelled.countDown();
                }
            });
        }
    }

    /** A Publisher with the fault that its argument names. */
    public static final class Wrong implements Publisher<Long> {
        private final String how;
        public final CountDownLatch cancelled = new CountDownLatch(1);

        public Wrong(String how) { this.how = how; }

        public boolean awaitCancelled(long millis) throws InterruptedException {
            return cancelled.await(millis, TimeUnit.MILLISECONDS);
        }

        @Override public void subscribe(Subscriber<? super Long> subscriber) {
            if (how.equals("throws")) throw new IllegalStateException("cannot be subscribed to");
            if (how.equals("no onSubscribe")) {
                subscriber.onNext(1L);
                return;
            }
            AtomicBoolean once = new AtomicBoolean();
            subscriber.onSubscribe(new Subscription() {
                @Override public void request(long n) {
                    if (once.getAndSet(true)) return;
                    if (how.equals("request throws")) throw new IllegalStateException("request threw");
                    new Thread(() -> signal(subscriber, n)).start();
                }

                @Override public void cancel() { cancelled.countDown(); }
            });
        }

        @SuppressWarnings("unchecked")
        private void signal(Subscriber<? super Long> subscriber, long n) {
            switch (how) {
                case "null element":
                    subscriber.onNext(1L);
                    try {
                        subscriber.onNext(null);
                    } catch (NullPointerException expected) {
                        // Rule 2.13 requires this exception.
                    }
                    break;
                case "beyond demand":
                    for (long i = 0; i <= n + 1_000; i++) subscriber.onNext(i);
                    break;
                case "two terminals":
                    subscriber.onNext(1L);
                    subscriber.onComplete();
                    subscriber.onError(new IllegalStateException("a second terminal"));
                    subscriber.onComplete();
                    break;
                case "two threads":
                    Meeting meeting = new Meeting();
                    Thread other = new Thread(() -> ((Subscriber<Object>) (Subscriber<?>) subscriber).onNext(meeting));
                    other.start();
                    meeting.awaitInside();
                    subscriber.onNext(1L); // while the other thread is inside onNext
                    meeting.leave.countDown();
                    break;
                default:
                    throw new IllegalArgumentException(how);
            }
        }
    }

    /** A list that blocks the thread that calls {@code size} until {@code leave} is counted down. */
    private static final class Meeting extends java.util.AbstractList<Object> {
        final CountDownLatch inside = new CountDownLatch(1);
        final CountDownLatch leave = new CountDownLatch(1);

        @Override public int size() {
            inside.countDown();
            try {
                leave.await(20, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return 1;
        }

        @Override public Object get(int index) { return "met"; }

        void awaitInside() {
            try {
                inside.await(20, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Counts elements and requests again after each one; can block in onNext until {@link #release}. */
    public static final class Counting implements Subscriber<Object> {
        private final long first;
        private final long again;
        private final boolean blocks;
        private Subscription subscription;
        public final AtomicLong count = new AtomicLong();
        private final AtomicInteger terminals = new AtomicInteger();
        public final CountDownLatch ended = new CountDownLatch(1);
        public final CountDownLatch blocked = new CountDownLatch(1);
        public static final CountDownLatch RELEASE = new CountDownLatch(1);
        private volatile Throwable error;
        private volatile boolean inOrder = true;

        public Counting(long first, long again, boolean blocks) {
            this.first = first;
            this.again = again;
            this.blocks = blocks;
        }

        @Override public void onSubscribe(Subscription s) {
            subscription = s;
            s.request(first);
        }

        @Override public void onNext(Object element) {
            if (!Long.valueOf(count.getAndIncrement()).equals(element)) inOrder = false;
            if (blocks) {
                blocked.countDown();
                try { RELEASE.await(); } catch (InterruptedException e) { Thread.currentThread().interrupt(); }
            }
            if (again > 0) subscription.request(again);
        }

        @Override public void onError(Throwable t) {
            error = t;
            terminals.incrementAndGet();
            ended.countDown();
        }

        @Override public void onComplete() {
            terminals.incrementAndGet();
            ended.countDown();
        }

        public void cancel() { subscription.cancel(); }

        public int terminals() { return terminals.get(); }

        public boolean awaitEnd(long millis) throws InterruptedException { return ended.await(millis, TimeUnit.MILLISECONDS); }

        public boolean awaitBlocked(long millis) throws InterruptedException { return blocked.await(millis, TimeUnit.MILLISECONDS); }

        public long count() { return count.get(); }

        public boolean inOrder() { return inOrder; }

        public String error() { return error == null ? null : error.toString(); }

        public static void release() { RELEASE.countDown(); }
    }

    /** Calls a function from several threads; returns the number of calls that returned an Object, or the first exception. */
    public static String callMany(Function<Object, Object> function, int threads, int calls) throws InterruptedException {
        AtomicLong returned = new AtomicLong();
        AtomicReference<Throwable> failed = new AtomicReference<>();
        List<Thread> callers = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Thread caller = new Thread(() -> {
                try {
                    for (int call = 0; call < calls && failed.get() == null; call++) {
                        if (function.apply(new Object()).getClass() == Object.class) returned.incrementAndGet();
                    }
                } catch (RuntimeException e) {
                    failed.compareAndSet(null, e);
                }
            }, "parties-caller");
            caller.setDaemon(true);
            caller.start();
            callers.add(caller);
        }
        for (Thread caller : callers) caller.join(60_000);
        return failed.get() == null ? String.valueOf(returned.get()) : failed.get().toString();
    }

    /** Returns the text of the exception that the function throws, or "returned" and its result. */
    public static String failure(Function<Object, Object> function) {
        try {
            return "returned " + function.apply("an argument");
        } catch (RuntimeException e) {
            return e.toString();
        }
    }

    /** Counts the threads of the bridge. */
    public static long bridgeThreads() {
        return Thread.getAllStackTraces().keySet().stream().filter(t -> t.getName().startsWith("pyrs-bridge")).count();
    }

    public static List<String> bridgeThreadNames() {
        return Thread.getAllStackTraces().keySet().stream().map(Thread::getName).filter(n -> n.startsWith("pyrs-")).sorted()
            .collect(java.util.stream.Collectors.toList());
    }
}
