package io.pyrs.tck;

import java.util.Set;
import java.util.function.Supplier;
import org.reactivestreams.Processor;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.tck.SubscriberWhiteboxVerification.WhiteboxSubscriberProbe;
import org.reactivestreams.tck.TestEnvironment;

/** The hooks of the user's verification, each a call to Python. */
final class Hooks {
    final TestEnvironment environment;
    final long referenceMillis;
    final int bufferSize;
    private final Scope scope;
    private final Family family;
    private final Set<String> overridden;

    /**
     * @param overridden the names of the optional hooks that the user's verification implements
     */
    Hooks(
            Scope scope,
            Family family,
            TestEnvironment environment,
            long referenceMillis,
            int bufferSize,
            Set<String> overridden) {
        this.scope = scope;
        this.family = family;
        this.environment = environment;
        this.referenceMillis = referenceMillis;
        this.bufferSize = bufferSize;
        this.overridden = overridden;
    }

    Publisher<Object> publisher(long elements) {
        return family.publisher(subject("create_publisher", elements));
    }

    /** Returns the user's failed Publisher, or null if there is none: the kit then skips the test. */
    Publisher<Object> failedPublisher() {
        var subject = subject("create_failed_publisher");
        return subject == null ? null : family.publisher(subject);
    }

    Subscriber<Object> subscriber() {
        return family.subscriber(subject("create_subscriber"));
    }

    Subscriber<Object> probedSubscriber(WhiteboxSubscriberProbe<Object> probe) {
        return family.subscriber(subject("create_probed_subscriber", probe));
    }

    Processor<Object, Object> identityProcessor() {
        return family.processor(subject("create_identity_processor"));
    }

    /** Returns the user's helper Publisher, or the Java kit's own if the user has none. */
    Publisher<Object> helperPublisher(long elements, Supplier<Publisher<Object>> standard) {
        return overridden.contains("create_helper_publisher")
                ? Family.REACTIVE_STREAMS.publisher(subject("create_helper_publisher", elements))
                : standard.get();
    }

    Object element(int n) {
        return call("create_element", (long) n);
    }

    void triggerRequest(Subscriber<? super Object> subscriber) {
        call("trigger_request", family.subject(subscriber));
    }

    long maxElementsFromPublisher() {
        return number("max_elements_from_publisher");
    }

    long boundedDepthOfOnNextAndRequestRecursion() {
        return number("bounded_depth_of_on_next_and_request_recursion");
    }

    long maxSupportedSubscribers() {
        return number("max_supported_subscribers");
    }

    boolean skipStochasticTests() {
        return number("skip_stochastic_tests") != 0;
    }

    boolean doesCoordinatedEmission() {
        return number("does_coordinated_emission") != 0;
    }

    /** Returns the subject that a hook created: a {@link PythonObject}, or the Java object of the returned number. */
    private Object subject(String hook, Object... arguments) {
        var value = call(hook, arguments);
        return value instanceof Long ? JavaSubjects.take((Long) value) : value;
    }

    private long number(String hook) {
        var value = call(hook);
        return value == null ? 0 : (Long) value;
    }

    private Object call(String hook, Object... arguments) {
        return scope.connection().call(hook, 0, arguments);
    }
}
