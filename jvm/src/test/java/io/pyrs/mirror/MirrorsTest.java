package io.pyrs.mirror;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertFalse;
import static org.testng.Assert.assertNotNull;
import static org.testng.Assert.assertNotSame;
import static org.testng.Assert.assertNull;
import static org.testng.Assert.assertSame;
import static org.testng.Assert.assertThrows;
import static org.testng.Assert.assertTrue;
import static org.testng.Assert.expectThrows;

import io.pyrs.LinkClosedException;
import io.pyrs.link.session.RangePublisher;
import io.pyrs.link.session.SessionPair;
import io.pyrs.link.session.StreamOptions;
import io.pyrs.link.session.ThrowingSubscriber;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.SubmissionPublisher;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import org.testng.annotations.AfterMethod;
import org.testng.annotations.BeforeMethod;
import org.testng.annotations.Test;

/** Tests mirrors over two connected sessions; the far side is a test double of Python. */
public class MirrorsTest {
    private static final ClassLoader LOADER = MirrorsTest.class.getClassLoader();
    private SessionPair pair;

    @BeforeMethod
    public void open() {
        pair = new SessionPair();
    }

    @AfterMethod
    public void close() {
        pair.close();
    }

    private static Publisher<Object> numbers(int count) {
        return new RangePublisher(count, number -> (int) number);
    }

    /** Collects all elements, and requests them in batches. */
    private static final class Collector implements Subscriber<Object>, Flow.Subscriber<Object> {
        final List<Object> elements = new ArrayList<>();
        final CompletableFuture<List<Object>> result = new CompletableFuture<>();
        private final long batch;
        private Runnable more;

        Collector(long batch) {
            this.batch = batch;
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            more = () -> subscription.request(batch);
            more.run();
        }

        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            more = () -> subscription.request(batch);
            more.run();
        }

        @Override
        public void onNext(Object element) {
            elements.add(element);
            if (elements.size() % batch == 0) {
                more.run();
            }
        }

        @Override
        public void onError(Throwable error) {
            result.completeExceptionally(error);
        }

        @Override
        public void onComplete() {
            result.complete(elements);
        }

        List<Object> get() throws Exception {
            return result.get(30, TimeUnit.SECONDS);
        }
    }

    private void await(BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(90);
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "the condition is not true in time");
            System.gc();
            pair.release();
        }
    }

    @Test(timeOut = 120_000)
    public void allElementsArriveInOrderForAnyDemand() throws Exception {
        for (long batch : new long[] {1, 7, 256, Long.MAX_VALUE}) {
            Collector collector = new Collector(batch);
            ((PythonPublisher) pair.mirror(numbers(20_000), StreamOptions.DEFAULT))
                    .subscribe((Subscriber<Object>) collector);
            List<Object> seen = collector.get();
            assertEquals(seen.size(), 20_000);
            for (int i = 0; i < 20_000; i++) {
                assertEquals(seen.get(i), (long) i);
            }
        }
        await(() -> pair.streams() == 0);
    }

    @Test(timeOut = 120_000)
    public void bothFamiliesReceiveAllElements() throws Exception {
        Collector flow = new Collector(10);
        ((Flow.Publisher<Object>) (PythonPublisher) pair.mirror(numbers(100), StreamOptions.DEFAULT)).subscribe(flow);
        assertEquals(flow.get().size(), 100);
        Collector far = new Collector(10);
        try (SubmissionPublisher<Object> source = new SubmissionPublisher<>()) {
            source.subscribe((PythonSubscriber) pair.mirror(far, StreamOptions.DEFAULT));
            for (long i = 0; i < 1_000; i++) {
                source.submit(i);
            }
        }
        assertEquals(far.get().size(), 1_000);
    }

    @Test(timeOut = 120_000)
    public void mirrorPublisherFeedsMirrorSubscriber() throws Exception {
        Collector far = new Collector(10);
        PythonPublisher publisher = (PythonPublisher) pair.mirror(numbers(500), StreamOptions.DEFAULT);
        publisher.subscribe((PythonSubscriber) pair.mirror(far, StreamOptions.DEFAULT));
        assertEquals(far.get().size(), 500);
    }

    @Test
    public void nullArgumentsThrow() {
        PythonPublisher publisher = (PythonPublisher) pair.mirror(numbers(1), StreamOptions.DEFAULT);
        PythonSubscriber subscriber = (PythonSubscriber) pair.mirror(new Collector(1), StreamOptions.DEFAULT);
        assertThrows(NullPointerException.class, () -> publisher.subscribe((Subscriber<Object>) null));
        assertThrows(NullPointerException.class, () -> publisher.subscribe((Flow.Subscriber<Object>) null));
        assertThrows(NullPointerException.class, () -> subscriber.onSubscribe((Subscription) null));
        assertThrows(NullPointerException.class, () -> subscriber.onNext(null));
        assertThrows(NullPointerException.class, () -> subscriber.onError(null));
        assertThrows(IllegalStateException.class, () -> subscriber.onNext(1));
    }

    @Test
    public void signalsAfterTheEndOfTheLinkAreDropped() {
        PythonSubscriber subscriber = (PythonSubscriber) pair.mirror(new Collector(1), StreamOptions.DEFAULT);
        CountDownLatch cancelled = new CountDownLatch(1);
        pair.near.lost(new LinkClosedException("the bridge was closed"));
        subscriber.onSubscribe(new Subscription() {
            @Override
            public void request(long n) {}

            @Override
            public void cancel() {
                cancelled.countDown();
            }
        });
        assertEquals(cancelled.getCount(), 0);
        // An empty Publisher completes at once, and each may signal until it has processed the cancel (rule 2.8).
        subscriber.onNext(1);
        subscriber.onComplete();
        subscriber.onError(new IllegalStateException("late"));
    }

    @Test(timeOut = 120_000)
    public void throwingSubscriberIsCancelled() throws Exception {
        CountDownLatch cancelled = new CountDownLatch(1);
        Publisher<Object> source = subscriber -> subscriber.onSubscribe(new Subscription() {
            @Override
            public void request(long n) {
                subscriber.onNext(1);
            }

            @Override
            public void cancel() {
                cancelled.countDown();
            }
        });
        ((PythonPublisher) pair.mirror(source, StreamOptions.DEFAULT)).subscribe(new ThrowingSubscriber());
        assertTrue(cancelled.await(30, TimeUnit.SECONDS));
        await(() -> pair.streams() == 0);
    }

    @Test(timeOut = 120_000)
    public void elementTypeIsAppliedAndMismatchIsAnError() throws Exception {
        StreamOptions integers = StreamOptions.of(Map.of("element_type", "java.lang.Integer"), LOADER);
        Collector fits = new Collector(5);
        ((PythonPublisher) pair.mirror(numbers(5), integers)).subscribe((Subscriber<Object>) fits);
        assertEquals(fits.get(), List.of(0, 1, 2, 3, 4));
        Collector mismatch = new Collector(5);
        ((PythonPublisher) pair.mirror(new RangePublisher(2, number -> number == 0 ? 1L : 1L << 40), integers))
                .subscribe((Subscriber<Object>) mismatch);
        Throwable error = expectThrows(ExecutionException.class, mismatch::get).getCause();
        assertTrue(error.getMessage().contains("java.lang.Integer"), error.getMessage());
        assertEquals(mismatch.elements, List.of(1));
    }

    @Test(timeOut = 120_000)
    @SuppressWarnings("unchecked")
    public void stageKeepsIntegerBoxesAndIdentity() throws Exception {
        Function<Object, Object> identity = upstream -> upstream;
        Function<Object, Object> stage = (Function<Object, Object>)
                new PythonStage(pair.near, pair.receipt(identity), Function.class, StreamOptions.DEFAULT).proxy(LOADER);
        Publisher<Object> source = numbers(3);
        assertSame(stage.apply(source), source);

        Function<Object, Object> wrapping = upstream -> (Publisher<Object>) ((Publisher<Object>) upstream)::subscribe;
        Function<Object, Object> wrapped = (Function<Object, Object>)
                new PythonStage(pair.near, pair.receipt(wrapping), Function.class, StreamOptions.DEFAULT).proxy(LOADER);
        Collector collector = new Collector(10);
        ((Publisher<Object>) wrapped.apply(source)).subscribe(collector);
        assertEquals(collector.get(), List.of(0, 1, 2));
        assertSame(collector.elements.get(0).getClass(), Integer.class);

        Function<Object, Object> returnsText = upstream -> "no publisher";
        Function<Object, Object> wrong = (Function<Object, Object>)
                new PythonStage(pair.near, pair.receipt(returnsText), Function.class, StreamOptions.DEFAULT)
                        .proxy(LOADER);
        assertThrows(IllegalStateException.class, () -> wrong.apply(source));
    }

    /** An interface like RxJava's FlowableTransformer. */
    public interface Transformer {
        /** Transforms a source to a Publisher. */
        Publisher<Object> apply(ColdSource source);
    }

    /** A source class that is also a Publisher. */
    public static final class ColdSource implements Publisher<Object> {
        @Override
        public void subscribe(Subscriber<? super Object> subscriber) {
            numbers(2).subscribe(subscriber);
        }
    }

    @Test(timeOut = 120_000)
    public void stageImplementsAnyInterfaceFromPublisherToPublisher() throws Exception {
        Function<Object, Object> identity = upstream -> upstream;
        Transformer stage = (Transformer)
                new PythonStage(pair.near, pair.receipt(identity), Transformer.class, StreamOptions.DEFAULT)
                        .proxy(LOADER);
        ColdSource source = new ColdSource();
        assertSame(stage.apply(source), source);
        assertTrue(stage.toString().contains("Transformer"));
        assertTrue(stage.equals(stage)); // assertEquals would not call equals
        assertFalse(stage.equals(source));
        assertEquals(stage.hashCode(), stage.hashCode());
        assertThrows(IllegalArgumentException.class, () -> new PythonStage(
                        pair.near, pair.receipt(identity), String.class, StreamOptions.DEFAULT)
                .proxy(LOADER));
    }

    /** The result of {@link Painter}. */
    public enum Color {
        RED
    }

    /** An interface whose result is a class of the same loader. */
    public interface Painter {
        /** Returns a color. */
        Color paint(Object given);
    }

    /** Loads copies of the nested classes, as the loader of a Spark session may have its own version of a class. */
    private static final class CopyingLoader extends ClassLoader {
        CopyingLoader() {
            super(LOADER);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith(MirrorsTest.class.getName() + "$")) {
                return super.loadClass(name, resolve);
            }
            Class<?> loaded = findLoadedClass(name);
            if (loaded != null) {
                return loaded;
            }
            try (InputStream file = LOADER.getResourceAsStream(name.replace('.', '/') + ".class")) {
                byte[] content = file.readAllBytes();
                return defineClass(name, content, 0, content.length);
            } catch (IOException unreadable) {
                throw new ClassNotFoundException(name, unreadable);
            }
        }
    }

    @Test(timeOut = 120_000)
    public void resultOfACallableHasTheClassThatItsInterfaceRefersTo() throws Exception {
        Class<?> painter = new CopyingLoader().loadClass(Painter.class.getName());
        Function<Object, Object> red = given -> "RED";
        Object mirror =
                new PythonCallable(pair.near, pair.receipt(red), painter, StreamOptions.DEFAULT, LOADER).proxy(LOADER);
        Object color = painter.getMethod("paint", Object.class).invoke(mirror, 1);
        assertEquals(color.toString(), "RED");
        assertSame(color.getClass().getClassLoader(), painter.getClassLoader());
    }

    @Test(timeOut = 120_000)
    @SuppressWarnings("unchecked")
    public void callableCallsPythonAndKeepsItsDefaultMethods() throws Exception {
        BiFunction<Object, Object, Object> sum = (a, b) -> (Long) a + (Long) b;
        Function<Object, Object> twice = a -> 2 * (Long) a;
        BiFunction<Object, Object, Object> add = (BiFunction<Object, Object, Object>)
                new PythonCallable(pair.near, pair.receipt(sum), BiFunction.class, StreamOptions.DEFAULT, LOADER)
                        .proxy(LOADER);
        Function<Object, Object> doubled = (Function<Object, Object>)
                new PythonCallable(pair.near, pair.receipt(twice), Function.class, StreamOptions.DEFAULT, LOADER)
                        .proxy(LOADER);
        assertEquals(add.apply(1, 2), 3L);
        assertEquals(add.andThen(doubled).apply(1, 2), 6L);
        ToIntFunction<Object> small = (ToIntFunction<Object>)
                new PythonCallable(pair.near, pair.receipt(twice), ToIntFunction.class, StreamOptions.DEFAULT, LOADER)
                        .proxy(LOADER);
        assertEquals(small.applyAsInt(21), 42);
        Exception cause = new IllegalArgumentException("the cause");
        Function<Object, Object> failing = a -> {
            throw new IllegalStateException("failed in Python", cause);
        };
        Function<Object, Object> failed = (Function<Object, Object>)
                new PythonCallable(pair.near, pair.receipt(failing), Function.class, StreamOptions.DEFAULT, LOADER)
                        .proxy(LOADER);
        RuntimeException error = expectThrows(RuntimeException.class, () -> failed.apply(1));
        assertTrue(error.getMessage().contains("failed in Python"));
        assertNotNull(error.getCause());
        assertNotNull(pair.near.handles().peerReference(add));
        assertNull(pair.far.handles().peerReference(add));
    }

    @Test(timeOut = 120_000)
    @SuppressWarnings("unchecked")
    public void exceptionOfTheFunctionIsNotReplacedByThatOfTheCall() throws Exception {
        for (Exception raised : List.of(
                new TimeoutException("of the function"),
                new ExecutionException("of the function", new Error("its cause")))) {
            // The near side sends the exception to the far side, whose function throws it: it returns as the original.
            Callable<Object> throwing = () -> {
                throw raised;
            };
            Callable<Object> remote = (Callable<Object>) new PythonCallable(
                            pair.far, pair.farReceipt(throwing), Callable.class, StreamOptions.DEFAULT, LOADER)
                    .proxy(LOADER);
            Callable<Object> twice = (Callable<Object>)
                    new PythonCallable(pair.near, pair.receipt(remote), Callable.class, StreamOptions.DEFAULT, LOADER)
                            .proxy(LOADER);
            assertSame(expectThrows(Exception.class, twice::call), raised);
        }
    }

    /** The caller of a Function cannot catch an InterruptedException, so the thread must stay interrupted. */
    @Test(timeOut = 120_000)
    @SuppressWarnings("unchecked")
    public void interruptOfACallIsNotLost() throws Exception {
        CompletableFuture<Object> answer = new CompletableFuture<>();
        Function<Object, Object> blocked = a -> answer.join();
        Callable<Object> alsoBlocked = answer::join;
        Function<Object, Object> function = (Function<Object, Object>)
                new PythonCallable(pair.near, pair.receipt(blocked), Function.class, StreamOptions.DEFAULT, LOADER)
                        .proxy(LOADER);
        Callable<Object> callable = (Callable<Object>)
                new PythonCallable(pair.near, pair.receipt(alsoBlocked), Callable.class, StreamOptions.DEFAULT, LOADER)
                        .proxy(LOADER);
        Thread.currentThread().interrupt();
        RuntimeException error = expectThrows(RuntimeException.class, () -> function.apply(1));
        assertTrue(error.getCause() instanceof InterruptedException);
        assertTrue(Thread.currentThread().isInterrupted());
        expectThrows(InterruptedException.class, callable::call);
        assertFalse(Thread.currentThread().isInterrupted());
        answer.complete(1);
    }

    @Test(timeOut = 120_000)
    @SuppressWarnings("unchecked")
    public void referencesKeepIdentityAndTablesBecomeEmpty() throws Exception {
        Object local = new Object() {
            @Override
            public String toString() {
                return "local";
            }
        };
        List<Object> seenFar = new ArrayList<>();
        Function<Object, Object> echo = a -> {
            seenFar.add(a);
            return a;
        };
        Function<Object, Object> remoteEcho = (Function<Object, Object>)
                new PythonCallable(pair.near, pair.receipt(echo), Function.class, StreamOptions.DEFAULT, LOADER)
                        .proxy(LOADER);
        assertSame(remoteEcho.apply(local), local);
        assertSame(remoteEcho.apply(local), local);
        assertSame(seenFar.get(0), seenFar.get(1));
        assertNotSame(seenFar.get(0), local);
        seenFar.clear();
        await(() -> pair.owned() == 1); // the function itself
        assertNull(remoteEcho.apply(null));
    }

    @Test(timeOut = 120_000)
    public void thousandStreamsLeaveEmptyTables() throws Exception {
        List<Collector> collectors = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            Collector collector = new Collector(32);
            collectors.add(collector);
            ((PythonPublisher) pair.mirror(numbers(100), StreamOptions.DEFAULT))
                    .subscribe((Subscriber<Object>) collector);
        }
        for (Collector collector : collectors) {
            assertEquals(collector.get().size(), 100);
        }
        await(() -> pair.streams() == 0 && pair.owned() == 0);
    }

    @Test(timeOut = 240_000)
    public void referencesAreReleasedDuringTheStream() throws Exception {
        int count = 200_000;
        CountDownLatch done = new CountDownLatch(1);
        int[] seen = new int[1];
        ((PythonPublisher) pair.mirror(new RangePublisher(count, number -> new Object()), StreamOptions.DEFAULT))
                .subscribe(new Subscriber<Object>() {
                    @Override
                    public void onSubscribe(Subscription subscription) {
                        subscription.request(Long.MAX_VALUE);
                    }

                    @Override
                    public void onNext(Object element) {
                        seen[0]++;
                    }

                    @Override
                    public void onError(Throwable error) {
                        done.countDown();
                    }

                    @Override
                    public void onComplete() {
                        done.countDown();
                    }
                });
        assertTrue(done.await(90, TimeUnit.SECONDS));
        assertEquals(seen[0], count);
        await(() -> pair.owned() == 0);
    }

    @Test(timeOut = 120_000)
    public void completionStageIsPublisherOfItsResult() throws Exception {
        CompletableFuture<Object> later = new CompletableFuture<>();
        Collector one = new Collector(1);
        pair.near.subscribe(pair.receipt(later), one, StreamOptions.DEFAULT);
        assertFalse(one.result.isDone());
        later.complete("value");
        assertEquals(one.get(), List.of("value"));
        Collector none = new Collector(1);
        pair.near.subscribe(pair.receipt(CompletableFuture.completedFuture(null)), none, StreamOptions.DEFAULT);
        assertEquals(none.get(), List.of());
        Collector failed = new Collector(1);
        pair.near.subscribe(
                pair.receipt(CompletableFuture.failedFuture(new IllegalStateException("boom"))),
                failed,
                StreamOptions.DEFAULT);
        Throwable error = expectThrows(ExecutionException.class, failed::get).getCause();
        assertTrue(error.getMessage().contains("boom"));
    }
}
