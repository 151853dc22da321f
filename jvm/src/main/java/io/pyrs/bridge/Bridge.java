package io.pyrs.bridge;

import io.pyrs.Classes;
import io.pyrs.Limits;
import io.pyrs.ObjectKind;
import io.pyrs.PeerReference;
import io.pyrs.PyRef;
import io.pyrs.invoke.HotPublishers;
import io.pyrs.link.connection.Connection;
import io.pyrs.link.session.Commands;
import io.pyrs.link.session.Session;
import io.pyrs.link.session.StreamOptions;
import io.pyrs.mirror.PythonCallable;
import io.pyrs.mirror.PythonProcessor;
import io.pyrs.mirror.PythonPublisher;
import io.pyrs.mirror.PythonStage;
import io.pyrs.mirror.PythonSubscriber;
import io.pyrs.mirror.ValueFunction;
import io.pyrs.value.Conversion;
import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * One bridge to one Python process: the control plane. Python calls these methods through its gateway; signals travel
 * on the link. A call whose repetition would have an effect carries a request number, and is executed once for each
 * number.
 */
public final class Bridge {
    private static final AtomicInteger COUNT = new AtomicInteger();
    private static final int DEFAULT_MAX_PREFETCH = Limits.of("window.elements");
    private static final int DEFAULT_MAX_THREADS = Limits.of("bridge.threads");
    private static final long DEFAULT_CALL_TIMEOUT_MILLIS = Limits.of("call.timeout_ms");

    private final String name;
    private final ClassLoader loader;
    private final IdempotentCalls calls;
    private final Connection connection;

    Bridge(byte[] token, Map<?, ?> options, ClassLoader loader) throws IOException {
        Objects.requireNonNull(token, "token");
        if (token.length < 32) {
            throw new IllegalArgumentException("a token of " + token.length + " bytes is too short: 32 are needed");
        }
        Map<?, ?> given = options == null ? Map.of() : options;
        Object chosenName = given.get("name");
        this.name = chosenName == null ? "bridge-" + COUNT.incrementAndGet() : chosenName.toString();
        this.loader = loader;
        this.calls = new IdempotentCalls(loader);
        this.connection = new Connection(
                name,
                token,
                reference -> mirror(reference, StreamOptions.DEFAULT),
                loader,
                positive(given, "max_prefetch", DEFAULT_MAX_PREFETCH),
                positive(given, "max_threads", DEFAULT_MAX_THREADS),
                number(given, "call_timeout_ms", DEFAULT_CALL_TIMEOUT_MILLIS),
                calls::forgetOld,
                calls::close);
        Arrays.fill(token, (byte) 0); // the listener clears its own copy once the link is open
        connection.start();
    }

    private static long number(Map<?, ?> options, String key, long defaultValue) {
        Object value = options.get(key);
        return value instanceof Number ? ((Number) value).longValue() : defaultValue;
    }

    /**
     * Returns an option as an int of at least 1. A larger long is limited: a cast could make it negative, which would
     * stop all streams.
     */
    static int positive(Map<?, ?> options, String key, long defaultValue) {
        return (int) Math.min(Integer.MAX_VALUE, Math.max(1, number(options, key, defaultValue)));
    }

    private Session session() {
        return connection.session();
    }

    private Object mirror(PeerReference reference, StreamOptions options) {
        switch (reference.kind()) {
            case PUBLISHER:
                return new PythonPublisher(session(), reference, options);
            case SUBSCRIBER:
                return new PythonSubscriber(session(), reference, options);
            case PROCESSOR:
                return new PythonProcessor(session(), reference, options);
            default:
                return new PyRef(reference);
        }
    }

    /** Returns the port on 127.0.0.1 on which the bridge accepts its link. */
    public int port() {
        return connection.port();
    }

    /** Returns whether the bridge waits for its link or is connected. */
    public boolean isOpen() {
        return connection.isOpen();
    }

    /** Returns the code of the kind of an object, plus {@value HotPublishers#HOT} for a hot Publisher. */
    public int kind(Object value) {
        return HotPublishers.kindCode(value);
    }

    /** Exports a Java object: returns its handle, and increments the number of times that it was sent. */
    public long export(long request, Object value) throws Exception {
        Objects.requireNonNull(value, "null has no handle");
        return calls.once(request, () -> session().handles().own(value));
    }

    /** Permits record batches to share memory with Python, which must run in this process. */
    public void shareMemory(long pid) {
        session().handles().shareMemory(pid);
    }

    /** Moves a shared record batch to an ArrowArray and an ArrowSchema of the C Data Interface. */
    public void moveBatch(long handle, long arrayAddress, long schemaAddress) {
        openFor(() -> {
            session().handles().moveBatch(handle, arrayAddress, schemaAddress);
            return null;
        });
    }

    /** Returns the Java object of a handle. */
    public Object resolve(long handle) {
        return openFor(() -> session().handles().local(handle));
    }

    /** Runs a task that looks up a handle. If the link has ended, throws its error and not that of a missing handle. */
    private <T> T openFor(Supplier<T> task) {
        try {
            return task.get();
        } catch (IllegalStateException released) {
            session().ensureOpen();
            throw released;
        }
    }

    /** Returns the mirror of a Python object of the kind {@code kind}. */
    public Object mirror(long request, int kind, long handle, Map<?, ?> options) throws Exception {
        return calls.once(request, () -> {
            StreamOptions chosen = options(options);
            return chosen.isDefault()
                    ? session().handles().remote(kind, handle)
                    : mirror(session().handles().receipt(ObjectKind.ofCode(kind), handle), chosen);
        });
    }

    /** Returns the Python handle of the object that a mirror of this bridge represents, 0 for any other value. */
    public long unwrap(Object value) {
        PeerReference reference = session().handles().peerReference(value);
        return reference == null ? 0 : reference.handle();
    }

    /**
     * Returns the mirror of a Python function from Publisher to Publisher.
     *
     * @param interfaceName null for java.util.function.Function
     */
    public Object stage(long request, long handle, String interfaceName, Map<?, ?> options) throws Exception {
        return calls.once(request, () -> {
            Class<?> type = load(interfaceName);
            StreamOptions chosen = options(options);
            return withReceipt(handle, reference -> new PythonStage(session(), reference, type, chosen).proxy(loader));
        });
    }

    /** Returns an object that implements a functional interface with a Python function. */
    public Object callable(long request, long handle, String interfaceName, Map<?, ?> options) throws Exception {
        return calls.once(request, () -> {
            Class<?> type = load(interfaceName);
            StreamOptions chosen = options(options);
            return withReceipt(
                    handle, reference -> new PythonCallable(session(), reference, type, chosen, loader).proxy(loader));
        });
    }

    /**
     * Creates the mirror of a function. If that fails, the handle is not released here: Python reverts the receipt
     * itself, and other mirrors may have the same handle.
     */
    private Object withReceipt(long handle, Function<PeerReference, Object> make) {
        PeerReference reference = new PeerReference(session().handles(), ObjectKind.OBJECT, handle);
        Object mirror = make.apply(reference);
        session().handles().releaseAfter(reference);
        return mirror;
    }

    /** Returns an object of a functional interface whose method converts its first argument to plain values. */
    public Object values(long request, String interfaceName, Map<?, ?> options) throws Exception {
        return calls.once(request, () -> new ValueFunction(
                        load(interfaceName), Conversion.of(options == null ? null : options.get("convert")))
                .proxy(loader));
    }

    /** Executes a command; see {@link Commands}. */
    public byte[] command(long request, byte[] command) throws Exception {
        session().ensureOpen(); // a closed session has no handles, and an error about a handle would hide the reason
        return calls.once(request, () -> session().commands().run(command)).bytes;
    }

    private StreamOptions options(Map<?, ?> options) {
        try {
            return StreamOptions.of(options, loader);
        } catch (IllegalArgumentException unknown) {
            // The class may belong to the caller's Spark session (ADD JAR).
            ClassLoader context = Thread.currentThread().getContextClassLoader();
            if (context == null || context == loader) {
                throw unknown;
            }
            return StreamOptions.of(options, context);
        }
    }

    private Class<?> load(String interfaceName) throws ClassNotFoundException {
        return interfaceName == null ? Function.class : Classes.find(interfaceName, loader);
    }

    /**
     * Returns counters of streams, elements, bytes, frames, drops, handles, threads, elements in flight and demand. Each
     * line is a name and a number, so that one call through a gateway reads all counters.
     */
    public String stats() {
        return connection.stats().entrySet().stream()
                .map(each -> each.getKey() + " " + each.getValue())
                .collect(Collectors.joining("\n"));
    }

    /** Closes the bridge: Subscribers receive LinkClosedException, upstream Subscriptions are cancelled. Idempotent. */
    public void close() {
        connection.close();
    }

    @Override
    public String toString() {
        return "Bridge[" + name + ", " + (isOpen() ? "open" : "closed") + ", " + connection.stats() + "]";
    }
}
