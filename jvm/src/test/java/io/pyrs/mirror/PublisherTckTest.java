package io.pyrs.mirror;

import io.pyrs.link.session.RangePublisher;
import io.pyrs.link.session.SessionPair;
import io.pyrs.link.session.StreamOptions;
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

/** Verifies the mirror of a Publisher with the official TCK, with a window and in exact mode. */
public class PublisherTckTest extends PublisherVerification<Object> {
    private final StreamOptions options;
    private SessionPair pair;

    @Factory(dataProvider = "modes")
    public PublisherTckTest(boolean exact) {
        // The TCK checks only once: for the error of rule 3.9 after the third timeout, and for dropped references
        // (rule 3.13) after the last timeout.
        super(new TestEnvironment(10_000, 100, 3_000), 3_000L);
        options = StreamOptions.of(Map.of("exact", exact), null);
    }

    @DataProvider
    public static Object[][] modes() {
        return new Object[][] {{false}, {true}};
    }

    @BeforeClass
    public void open() {
        pair = new SessionPair();
    }

    @AfterClass
    public void close() {
        pair.close();
    }

    /** Collects garbage during the test, since the TCK collects once and waits only 100 ms for the result. */
    @Test
    @Override
    public void required_spec313_cancelMustMakeThePublisherEventuallyDropAllReferencesToTheSubscriber()
            throws Throwable {
        AtomicBoolean finished = new AtomicBoolean();
        Thread collector = new Thread(
                () -> {
                    while (!finished.get()) {
                        System.gc();
                        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
                    }
                },
                "collector");
        collector.setDaemon(true);
        collector.start();
        try {
            super.required_spec313_cancelMustMakeThePublisherEventuallyDropAllReferencesToTheSubscriber();
        } finally {
            finished.set(true);
            collector.join();
        }
    }

    @Override
    public Publisher<Object> createPublisher(long elements) {
        return (PythonPublisher) pair.mirror(new RangePublisher(elements, Long::valueOf), options);
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
