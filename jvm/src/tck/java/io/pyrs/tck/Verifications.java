package io.pyrs.tck;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.reactivestreams.Processor;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.tck.IdentityProcessorVerification;
import org.reactivestreams.tck.PublisherVerification;
import org.reactivestreams.tck.SubscriberBlackboxVerification;
import org.reactivestreams.tck.SubscriberWhiteboxVerification;
import org.testng.annotations.AfterClass;
import org.testng.annotations.BeforeClass;

/**
 * The official verifications with their hooks implemented in Python.
 *
 * <p>The kit's Flow verifications only adapt the subjects, so {@link Family} does the same, and one set of
 * classes serves both families.
 */
final class Verifications {
    private Verifications() {}

    public static final class OfPublisher extends PublisherVerification<Object> {
        private final Hooks hooks;

        public OfPublisher() {
            this(TestRunner.hooks());
        }

        private OfPublisher(Hooks hooks) {
            super(hooks.environment, hooks.referenceMillis);
            this.hooks = hooks;
        }

        @Override
        public Publisher<Object> createPublisher(long elements) {
            return hooks.publisher(elements);
        }

        @Override
        public Publisher<Object> createFailedPublisher() {
            return hooks.failedPublisher();
        }

        @Override
        public long maxElementsFromPublisher() {
            return hooks.maxElementsFromPublisher();
        }

        @Override
        public long boundedDepthOfOnNextAndRequestRecursion() {
            return hooks.boundedDepthOfOnNextAndRequestRecursion();
        }

        @Override
        public boolean skipStochasticTests() {
            return hooks.skipStochasticTests();
        }
    }

    public static final class OfSubscriberWhitebox extends SubscriberWhiteboxVerification<Object> {
        private final Hooks hooks;

        public OfSubscriberWhitebox() {
            this(TestRunner.hooks());
        }

        private OfSubscriberWhitebox(Hooks hooks) {
            super(hooks.environment);
            this.hooks = hooks;
        }

        @Override
        public Subscriber<Object> createSubscriber(WhiteboxSubscriberProbe<Object> probe) {
            return hooks.probedSubscriber(probe);
        }

        @Override
        public Object createElement(int n) {
            return hooks.element(n);
        }

        @Override
        public Publisher<Object> createHelperPublisher(long elements) {
            return hooks.helperPublisher(elements, () -> super.createHelperPublisher(elements));
        }
    }

    public static final class OfSubscriberBlackbox extends SubscriberBlackboxVerification<Object> {
        private final Hooks hooks;

        public OfSubscriberBlackbox() {
            this(TestRunner.hooks());
        }

        private OfSubscriberBlackbox(Hooks hooks) {
            super(hooks.environment);
            this.hooks = hooks;
        }

        @Override
        public Subscriber<Object> createSubscriber() {
            return hooks.subscriber();
        }

        @Override
        public void triggerRequest(Subscriber<? super Object> subscriber) {
            hooks.triggerRequest(subscriber);
        }

        @Override
        public Object createElement(int n) {
            return hooks.element(n);
        }

        @Override
        public Publisher<Object> createHelperPublisher(long elements) {
            return hooks.helperPublisher(elements, () -> super.createHelperPublisher(elements));
        }
    }

    public static final class OfProcessor extends IdentityProcessorVerification<Object> {
        private final Hooks hooks;
        private ExecutorService executor;

        public OfProcessor() {
            this(TestRunner.hooks());
        }

        private OfProcessor(Hooks hooks) {
            super(hooks.environment, hooks.referenceMillis, hooks.bufferSize);
            this.hooks = hooks;
        }

        @BeforeClass
        public void startExecutor() {
            executor = Executors.newFixedThreadPool(4);
        }

        @AfterClass(alwaysRun = true)
        public void stopExecutor() {
            executor.shutdownNow();
        }

        @Override
        public ExecutorService publisherExecutorService() {
            return executor;
        }

        @Override
        public Processor<Object, Object> createIdentityProcessor(int bufferSize) {
            return hooks.identityProcessor();
        }

        @Override
        public Publisher<Object> createFailedPublisher() {
            return hooks.failedPublisher();
        }

        @Override
        public Object createElement(int n) {
            return hooks.element(n);
        }

        @Override
        public Publisher<Object> createHelperPublisher(long elements) {
            return hooks.helperPublisher(elements, () -> super.createHelperPublisher(elements));
        }

        @Override
        public long maxElementsFromPublisher() {
            return hooks.maxElementsFromPublisher();
        }

        @Override
        public long boundedDepthOfOnNextAndRequestRecursion() {
            return hooks.boundedDepthOfOnNextAndRequestRecursion();
        }

        @Override
        public boolean skipStochasticTests() {
            return hooks.skipStochasticTests();
        }

        @Override
        public long maxSupportedSubscribers() {
            return hooks.maxSupportedSubscribers();
        }

        @Override
        public boolean doesCoordinatedEmission() {
            return hooks.doesCoordinatedEmission();
        }
    }
}
