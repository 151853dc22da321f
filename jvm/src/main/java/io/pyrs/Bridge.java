package io.pyrs;

import io.pyrs.link.Classes;
import io.pyrs.link.Commands;
import io.pyrs.link.Connection;
import io.pyrs.link.Hot;
import io.pyrs.link.Invocation;
import io.pyrs.link.Reference;
import io.pyrs.link.Session;
import io.pyrs.link.StreamOptions;
import io.pyrs.mirror.PythonCallable;
import io.pyrs.mirror.PythonProcessor;
import io.pyrs.mirror.PythonPublisher;
import io.pyrs.mirror.PythonStage;
import io.pyrs.mirror.PythonSubscriber;
import io.pyrs.mirror.ValueFunction;
import io.pyrs.value.Conversion;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/**
 * One bridge to one Python process: the control plane. Python calls these methods through its gateway; signals never take this way, they
 * cross on the link. Calls that change something carry a request number and happen once for each.
 */
public final class Bridge {
    private static final AtomicInteger COUNT = new AtomicInteger();
    private static final int DEFAULT_MAX_PREFETCH = 16_384;
    private static final int DEFAULT_MAX_THREADS = 256;
    private static final long DEFAULT_CALL_TIMEOUT_MILLIS = 30_000;

    private final String name;
    private final ClassLoader loader;
    private final Answers answers;
    private final Connection connection;

    Bridge(byte[] token, Map<?, ?> options, ClassLoader loader) throws IOException {
        Objects.requireNonNull(token, "a token is needed");
        if (token.length < 32) {
            throw new IllegalArgumentException("a token of " + token.length + " bytes is too short: 32 are needed");
        }
        Map<?, ?> given = options == null ? Map.of() : options;
        Object wish = given.get("name");
        this.name = wish == null ? "bridge-" + COUNT.incrementAndGet() : wish.toString();
        this.loader = loader;
        this.answers = new Answers(loader);
        this.connection = new Connection(
                name,
                token,
                reference -> standIn(reference, StreamOptions.DEFAULT),
                loader,
                (int) Math.max(1, number(given, "max_prefetch", DEFAULT_MAX_PREFETCH)),
                (int) Math.max(1, number(given, "max_threads", DEFAULT_MAX_THREADS)),
                number(given, "call_timeout_ms", DEFAULT_CALL_TIMEOUT_MILLIS),
                answers::forgetOld,
                answers::close);
        Arrays.fill(token, (byte) 0); // the listener has its own copy, and forgets it once the link stands
        connection.start();
    }

    private static long number(Map<?, ?> options, String key, long standard) {
        Object value = options.get(key);
        return value instanceof Number ? ((Number) value).longValue() : standard;
    }

    private Session session() {
        return connection.session();
    }

    private Object standIn(Reference reference, StreamOptions options) {
        switch (reference.kind()) {
            case 1:
                return new PythonPublisher(session(), reference, options);
            case 2:
                return new PythonSubscriber(session(), reference, options);
            case 3:
                return new PythonProcessor(session(), reference, options);
            default:
                return new PyRef(reference);
        }
    }

    /** Where the link is waited for, on 127.0.0.1. */
    public int port() {
        return connection.port();
    }

    /** Whether the bridge waits for its link or has it. */
    public boolean isOpen() {
        return connection.isOpen();
    }

    /** What an object is: 0 object, 1 publisher, 2 subscriber, 3 processor, 4 completion stage; and {@value Hot#HOT} more where a Publisher is hot. */
    public int kind(Object value) {
        return Hot.kindOf(value);
    }

    /** A handle for a Java object, counted as sent once more. */
    public long export(long request, Object value) throws Exception {
        Objects.requireNonNull(value, "null has no handle");
        return answers.once(request, () -> session().own(value));
    }

    /** The Java object behind one of our handles. */
    public Object resolve(long handle) {
        return session().local(handle);
    }

    /** The Java object of both families that stands for a Python Publisher (1), Subscriber (2) or Processor (3), or a reference to any other. */
    public Object mirror(long request, int kind, long handle, Map<?, ?> options) throws Exception {
        return answers.once(request, () -> {
            StreamOptions chosen = options(options);
            return chosen.isDefault()
                    ? session().remote(kind, handle)
                    : standIn(session().receipt(kind, handle), chosen);
        });
    }

    /** The Python handle of what a mirror or reference of this bridge stands for, 0 for anything else. */
    public long unwrap(Object value) {
        return session().home(value);
    }

    /**
     * A function from Publisher to Publisher that Python computes.
     *
     * @param interfaceName null for java.util.function.Function
     */
    public Object stage(long request, long handle, String interfaceName, Map<?, ?> options) throws Exception {
        return answers.once(request, () -> PythonStage.create(
                session(), session().receipt(0, handle), load(interfaceName, Function.class), options(options), loader));
    }

    /** An object of a single-method interface whose method is a call of a Python function. */
    public Object callable(long request, long handle, String interfaceName, Map<?, ?> options) throws Exception {
        return answers.once(request, () -> PythonCallable.create(
                session(), session().receipt(0, handle), load(interfaceName, Function.class), options == null ? Map.of() : options, loader));
    }

    /** An object of a single-method interface whose method gives its first argument as plain values, in Java. */
    public Object values(long request, String interfaceName, Map<?, ?> options) throws Exception {
        return answers.once(request, () -> ValueFunction.create(load(interfaceName, Function.class), Conversion.of(options.get("convert")), loader));
    }

    /** Calls a public method, inherited default methods and those of non-public classes included. */
    public Object invoke(long request, Object target, String method, Object[] arguments) throws Exception {
        Object[] given = arguments == null ? new Object[0] : arguments;
        return answers.once(request, () -> {
            try {
                return Invocation.invoke(target, method, given);
            } catch (Exception | Error thrown) {
                throw thrown;
            } catch (Throwable other) {
                throw new IllegalStateException(other);
            }
        });
    }

    /** Does what a command says, in Java, by name: see {@link Commands}. */
    public byte[] command(long request, byte[] command) throws Exception {
        return answers.once(request, () -> session().commands().run(command)).bytes;
    }

    private StreamOptions options(Map<?, ?> options) {
        try {
            return StreamOptions.of(options, loader);
        } catch (IllegalArgumentException unknown) {
            // A class of the caller's own session (Spark's ADD JAR).
            ClassLoader context = Thread.currentThread().getContextClassLoader();
            if (context == null || context == loader) {
                throw unknown;
            }
            return StreamOptions.of(options, context);
        }
    }

    private Class<?> load(String className, Class<?> standard) throws ClassNotFoundException {
        return className == null || className.equals(standard.getName()) ? standard : Classes.find(className, loader);
    }

    /** Counters: streams, elements, bytes, frames, drops, handles, threads, the largest number in flight, demand. */
    public Map<String, Object> stats() {
        return new HashMap<>(connection.stats());
    }

    /** Ends the bridge: Subscribers get LinkClosedException, upstreams are cancelled. More calls do nothing. */
    public void close() {
        connection.close();
    }

    @Override
    public String toString() {
        return "Bridge[" + name + ", " + (isOpen() ? "open" : "closed") + ", " + stats() + "]";
    }
}
