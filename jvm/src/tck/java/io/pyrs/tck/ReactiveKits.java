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

/** The official verifications of org.reactivestreams; their hooks are Python's. */
final class ReactiveKits {
    private ReactiveKits() {}

    /** Publishers. */
    public static final class Publishers extends PublisherVerification<Object> {
        private final Hooks hooks;

        public Publishers() {
            this(Desk.hooks());
        }

        private Publishers(Hooks hooks) {
            super(hooks.env, hooks.referenceMillis);
            this.hooks = hooks;
        }

        @Override public Publisher<Object> createPublisher(long elements) {
            return hooks.made(ReactiveObjects.PythonPublisher::new, "create_publisher", elements);
        }

        @Override public Publisher<Object> createFailedPublisher() {
            return hooks.made(ReactiveObjects.PythonPublisher::new, "create_failed_publisher");
        }

        @Override public long maxElementsFromPublisher() {
            return hooks.number("max_elements_from_publisher");
        }

        @Override public long boundedDepthOfOnNextAndRequestRecursion() {
            return hooks.number("bounded_depth_of_on_next_and_request_recursion");
        }

        @Override public boolean skipStochasticTests() {
            return hooks.number("skip_stochastic_tests") != 0;
        }
    }

    /** Subscribers, with a probe. */
    public static final class Whiteboxes extends SubscriberWhiteboxVerification<Object> {
        private final Hooks hooks;

        public Whiteboxes() {
            this(Desk.hooks());
        }

        private Whiteboxes(Hooks hooks) {
            super(hooks.env);
            this.hooks = hooks;
        }

        @Override public Subscriber<Object> createSubscriber(WhiteboxSubscriberProbe<Object> probe) {
            return hooks.made(ReactiveObjects.PythonSubscriber::new, "create_probed_subscriber", probe);
        }

        @Override public Object createElement(int n) {
            return hooks.call("create_element", (long) n);
        }

        @Override public Publisher<Object> createHelperPublisher(long elements) {
            return hooks.helper(elements, () -> super.createHelperPublisher(elements));
        }
    }

    /** Subscribers, from outside. */
    public static final class Blackboxes extends SubscriberBlackboxVerification<Object> {
        private final Hooks hooks;

        public Blackboxes() {
            this(Desk.hooks());
        }

        private Blackboxes(Hooks hooks) {
            super(hooks.env);
            this.hooks = hooks;
        }

        @Override public Subscriber<Object> createSubscriber() {
            return hooks.made(ReactiveObjects.PythonSubscriber::new, "create_subscriber");
        }

        @Override public void triggerRequest(Subscriber<? super Object> subscriber) {
            hooks.call("trigger_request", subscriber);
        }

        @Override public Object createElement(int n) {
            return hooks.call("create_element", (long) n);
        }

        @Override public Publisher<Object> createHelperPublisher(long elements) {
            return hooks.helper(elements, () -> super.createHelperPublisher(elements));
        }
    }

    /** Processors. */
    public static final class Processors extends IdentityProcessorVerification<Object> {
        private final Hooks hooks;
        private ExecutorService executor;

        public Processors() {
            this(Desk.hooks());
        }

        private Processors(Hooks hooks) {
            super(hooks.env, hooks.referenceMillis, hooks.bufferSize);
            this.hooks = hooks;
        }

        @BeforeClass public void startExecutor() {
            executor = Executors.newFixedThreadPool(4);
        }

        @AfterClass(alwaysRun = true) public void stopExecutor() {
            executor.shutdownNow();
        }

        @Override public ExecutorService publisherExecutorService() {
            return executor;
        }

        @Override public Processor<Object, Object> createIdentityProcessor(int bufferSize) {
            return hooks.made(ReactiveObjects.PythonProcessor::new, "create_identity_processor");
        }

        @Override public Publisher<Object> createFailedPublisher() {
            return hooks.made(ReactiveObjects.PythonPublisher::new, "create_failed_publisher");
        }

        @Override public Object createElement(int n) {
            return hooks.call("create_element", (long) n);
        }

        @Override public Publisher<Object> createHelperPublisher(long elements) {
            return hooks.helper(elements, () -> super.createHelperPublisher(elements));
        }

        @Override public long maxElementsFromPublisher() {
            return hooks.number("max_elements_from_publisher");
        }

        @Override public long boundedDepthOfOnNextAndRequestRecursion() {
            return hooks.number("bounded_depth_of_on_next_and_request_recursion");
        }

        @Override public boolean skipStochasticTests() {
            return hooks.number("skip_stochastic_tests") != 0;
        }

        @Override public long maxSupportedSubscribers() {
            return hooks.number("max_supported_subscribers");
        }

        @Override public boolean doesCoordinatedEmission() {
            return hooks.number("does_coordinated_emission") != 0;
        }
    }
}
