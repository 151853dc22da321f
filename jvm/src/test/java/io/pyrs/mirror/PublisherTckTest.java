package io.pyrs.mirror;

import io.pyrs.link.Numbers;
import io.pyrs.link.Pair;
import io.pyrs.link.StreamOptions;
import java.util.Map;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import org.reactivestreams.tck.PublisherVerification;
import org.reactivestreams.tck.TestEnvironment;
import org.testng.annotations.AfterClass;
import org.testng.annotations.BeforeClass;
import org.testng.annotations.DataProvider;
import org.testng.annotations.Factory;

/** The official kit judges the mirror of a Publisher, with its window and guards, and in exact mode. */
public class PublisherTckTest extends PublisherVerification<Object> {
    private final StreamOptions options;
    private Pair pair;

    @Factory(dataProvider = "modes")
    public PublisherTckTest(boolean exact) {
        super(new TestEnvironment(500, 100, 50), 300L);
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
