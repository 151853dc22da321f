package io.pyrs.mirror;

import io.pyrs.link.Numbers;
import io.pyrs.link.Pair;
import io.pyrs.link.StreamOptions;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import org.reactivestreams.tck.PublisherVerification;
import org.reactivestreams.tck.TestEnvironment;
import org.testng.annotations.AfterClass;
import org.testng.annotations.BeforeClass;
import org.testng.annotations.DataProvider;
import org.testng.annotations.Factory;
import org.testng.annotations.Test;

/** The official kit judges the mirror of a Publisher, with its window and guards, and in exact mode. */
public class PublisherTckTest extends PublisherVerification<Object> {
    private final StreamOptions options;
    private Pair pair;

    @Factory(dataProvider = "modes")
    public PublisherTckTest(boolean exact) {
        // The kit sleeps and then looks once: for the errors of 3.9 after the third, for references after the last.
        super(new TestEnvironment(10_000, 100, 3_000), 3_000L);
        options = StreamOptions.of(Map.of("exact", exact), null);
    }

    @DataProvider
    public static Object[][] modes() {
        return new Object[][] {{false}, {true}};
    }

    @BeforeClass
    public void open() {
        pair = new Pair();
    }

    @AfterClass
    public void close() {
        pair.close();
    }

    /** The kit collects once, and gives the JVM a tenth of a second to say what it found: so it has found it before. */
    @Test
    @Override
    public void required_spec313_cancelMustMakeThePublisherEventuallyDropAllReferencesToTheSubscriber() throws Throwable {
        AtomicBoolean over = new AtomicBoolean();
        Thread collector = new Thread(() -> {
            while (!over.get()) {
                System.gc();
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
            }
        }, "collector");
        collector.setDaemon(true);
        collector.start();
        try {
            super.required_spec313_cancelMustMakeThePublisherEventuallyDropAllReferencesToTheSubscriber();
        } finally {
            over.set(true);
            collector.join();
        }
    }

    @Override
    public Publisher<Object> createPublisher(long elements) {
        return (PythonPublisher) pair.mirror(new Numbers(elements, Long::valueOf), options);
    }

    @Override
    public Publisher<Object> createFailedPublisher() {
        Publisher<Object> failed = new Publisher<>() {
            @Override
            public void subscribe(Subscriber<? super Object> subscriber) {
                subscriber.onSubscribe(new Subscription() {
                    @Override
                    public void request(long n) {}

                    @Override
                    public void cancel() {}
                });
                subscriber.onError(new IllegalStateException("failed from the beginning"));
            }
        };
        return (PythonPublisher) pair.mirror(failed, options);
    }
}
