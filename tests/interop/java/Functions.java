package interop;

import java.util.Optional;
import java.util.concurrent.Flow;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.reactivestreams.Processor;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;

/** Functions for elements of one class, which throw a ClassCastException for others, and calls that no gateway can express. */
public final class Functions {
    private Functions() {}

    /** An interface that is not public, with a default method. */
    interface Step {
        long once(long value);

        default long twice(long value) {
            return once(once(value));
        }
    }

    public static long twice(Object step, long value) {
        return ((Step) step).twice(value);
    }

    /** An interface whose method returns an Optional. */
    public interface Finder {
        Optional<String> find(String key);
    }

    public static String found(Finder finder, String key) {
        return finder.find(key).orElse("nothing");
    }

    public static Function<Integer, Integer> doubleInteger() {
        return number -> number * 2;
    }

    public static Function<Long, Object> failAt(long where, RuntimeException failure) {
        return number -> {
            if (number.longValue() == where) {
                throw failure;
            }
            return number;
        };
    }

    public static Function<Integer, Object> toLong() {
        return Integer::longValue;
    }

    public static io.reactivex.rxjava3.functions.Function<Integer, Integer> rxDoubleInteger() {
        return number -> number * 2;
    }

    public static akka.japi.function.Function<Integer, Integer> akkaDoubleInteger() {
        return number -> number * 2;
    }

    public static <T, R> akka.japi.function.Creator<Processor<T, R>> creator(Processor<T, R> processor) {
        return () -> processor;
    }

    /** Calls subscribe of org.reactivestreams, also for objects of both families: a gateway cannot choose the overload. */
    public static void subscribe(Publisher<Object> publisher, Subscriber<Object> subscriber) {
        publisher.subscribe(subscriber);
    }

    public static void subscribeFlow(Flow.Publisher<Object> publisher, Flow.Subscriber<Object> subscriber) {
        publisher.subscribe(subscriber);
    }

    /** Applies a stage to a Publisher of either family. */
    public static Object applied(Function<Object, Object> stage, Object source) {
        return stage.apply(source);
    }

    /** Subscribes to a Publisher of either family, or of both. */
    @SuppressWarnings("unchecked")
    public static void subscribeAny(Object publisher, Recorder recorder) {
        if (publisher instanceof Publisher) {
            ((Publisher<Object>) publisher).subscribe(recorder);
        } else {
            ((Flow.Publisher<Object>) publisher).subscribe(recorder);
        }
    }

    /** Returns which of the six interfaces of both families an object implements. */
    public static String interfaces(Object object) {
        return Stream.of(Publisher.class, Subscriber.class, Processor.class,
                        Flow.Publisher.class, Flow.Subscriber.class, Flow.Processor.class)
                .filter(type -> type.isInstance(object)).map(type -> type.getName().replaceAll(".*[.]", ""))
                .collect(Collectors.joining(" "));
    }

    public static Publisher<Object> assembled(Function<Publisher<Object>, Publisher<Object>> stage, Publisher<Object> source) {
        return stage.apply(source);
    }

    public static String apply(Function<Object, Object> function, Object argument) {
        return Table.describe(function.apply(argument));
    }

    public static String apply(BiFunction<Object, Object, Object> function, Object first, Object second) {
        return Table.describe(function.apply(first, second));
    }

    public static boolean test(Predicate<Object> predicate, Object argument) {
        return predicate.negate().negate().test(argument);
    }

    public static boolean isIllegalArgument(Object error) {
        return error instanceof IllegalArgumentException;
    }

    public static boolean isInstance(String className, Object object) throws ClassNotFoundException {
        return Class.forName(className).isInstance(object);
    }

    public static boolean isNullPointer(Object error) {
        return error instanceof NullPointerException;
    }

    /** Returns the innermost frame of the stack trace. */
    public static String top(Throwable error) {
        return error.getStackTrace().length == 0 ? "" : error.getStackTrace()[0].toString();
    }

    public static boolean same(Object first, Object second) {
        return first == second;
    }
}
