package io.pyrs.link.session;

import io.pyrs.Limits;
import io.pyrs.LinkBrokenException;
import io.pyrs.LinkClosedException;
import io.pyrs.Log;
import io.pyrs.PeerReference;
import io.pyrs.invoke.SingleTypes;
import io.pyrs.link.protocol.Frame;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import io.pyrs.link.protocol.GoAwayReason;
import io.pyrs.link.protocol.ProtocolException;
import io.pyrs.value.Conversion;
import io.pyrs.value.ConversionException;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;

/**
 * The state of one link: the stream table, handles and calls. It performs no I/O and runs its tasks on an executor, so
 * that tests can replay conversations with a direct executor.
 */
public final class Session {
    private static final int MAX_STREAMS = Limits.of("link.streams");

    private final Executor executor;
    private final Outbox outbox;
    private final Handles handles;
    private final Codec codec;
    private final Calls calls;
    private final Commands commands;
    private final int maxPrefetch;
    private final Map<Long, DrainLoop> streams = new ConcurrentHashMap<>();
    /** The last cancelled streams with a function for dropped elements, which may still receive elements. */
    private final Map<Long, InboundStream> lateStreams = Collections.synchronizedMap(new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, InboundStream> eldest) {
            return size() > 1_024;
        }
    });

    private final AtomicLong nextStream;
    private final AtomicLong streamsTotal = new AtomicLong();
    private final LongAdder elementsOut = new LongAdder();
    private final LongAdder elementsIn = new LongAdder();
    private final LongAdder dropped = new LongAdder();
    private final AtomicLong largestInFlight = new AtomicLong();
    private volatile RuntimeException closeReason;

    /** Creates either side of a link: {@code firstStream} is 2 for the JVM and 1 for a test double of Python. */
    public Session(
            Executor executor,
            Outbox outbox,
            Function<PeerReference, Object> mirrorFactory,
            ClassLoader loader,
            int maxPrefetch,
            long callDeadlineMillis,
            int firstStream) {
        this.nextStream = new AtomicLong(firstStream);
        this.executor = executor;
        this.outbox = outbox;
        this.handles = new Handles(mirrorFactory);
        this.codec = new Codec(handles);
        this.calls = new Calls(this, callDeadlineMillis);
        this.commands = new Commands(handles, codec, loader);
        this.maxPrefetch = maxPrefetch;
    }

    // Called by mirrors.

    /**
     * Subscribes a Subscriber of either family to a Publisher of the peer. Calls onSubscribe before it returns (rule
     * 1.9). If the link has ended, the Subscriber receives the error after onSubscribe.
     */
    public void subscribe(PeerReference publisher, Object subscriber, StreamOptions options) {
        InboundStream stream = new InboundStream(this, nextStream(), Families.subscriber(subscriber), options);
        register(stream.id(), stream);
        if (closeReason == null && streams.size() > MAX_STREAMS) {
            stream.receiveTerminal(tooManyStreams()); // rule 1.9: subscribe returns normally
        } else if (closeReason == null) {
            try {
                Map<String, Object> wire = options.wire();
                Map<String, String> context = ReactorContexts.of(subscriber);
                if (!context.isEmpty()) {
                    wire.put("context", context);
                }
                byte[] frame = codec.frame(FrameType.SUBSCRIBE, stream.id(), List.of(publisher.handle(), wire));
                int size = frame.length - Frames.HEADER;
                if (size > Frames.MAX_BODY) { // SUBSCRIBE is never fragmented
                    throw new ConversionException("the options of a subscription take " + size
                            + " bytes, but the limit is " + Frames.MAX_BODY + ": name fewer classes in convert");
                }
                outbox.control(frame);
            } catch (ConversionException unconvertible) {
                stream.receiveTerminal(unconvertible); // rule 1.9
            } finally {
                Reference.reachabilityFence(publisher); // its RELEASE must not be sent before the SUBSCRIBE
            }
        }
        stream.start();
        outbox.flush();
    }

    /** Opens a stream to a Subscriber of the peer, and returns the Subscriber that forwards to it. */
    public OutboundStream openTo(PeerReference subscriber, StreamOptions options) {
        ensureOpen();
        if (streams.size() >= MAX_STREAMS) {
            throw tooManyStreams();
        }
        OutboundStream stream = new OutboundStream(this, nextStream(), options.conversion(), null);
        register(stream.id(), stream);
        List<Object> body = List.of(subscriber.handle(), options.onSubscribeWire());
        outbox.control(codec.frame(FrameType.ON_SUBSCRIBE, stream.id(), body));
        Reference.reachabilityFence(subscriber); // its RELEASE must not be sent before the ON_SUBSCRIBE
        outbox.flush();
        return stream;
    }

    /** Calls an object of the peer; throws the exception that the call raises. */
    public Object call(PeerReference target, List<Object> arguments, Conversion conversion) throws Throwable {
        try {
            return calls.call(target.handle(), arguments, conversion);
        } finally {
            Reference.reachabilityFence(target); // its RELEASE must not be sent before the CALL
        }
    }

    /** Returns the object that executes commands from Python. */
    public Commands commands() {
        return commands;
    }

    /**
     * Starts to record the box type of the integers that a Publisher emits to Python, and returns the options that
     * restore it. Returns the given options if they have an element type, or if the Publisher is a mirror.
     */
    public StreamOptions recordBoxes(Object publisher, StreamOptions options) {
        if (options.hasElementType() || handles.peerReference(publisher) != null) {
            return options;
        }
        return options.with(handles.recordBoxes(publisher));
    }

    public boolean isOpen() {
        return closeReason == null;
    }

    /** Throws LinkClosedException after the end of the link. */
    public void ensureOpen() {
        RuntimeException reason = closeReason;
        if (reason != null) {
            throw new LinkClosedException("the bridge to Python has ended: " + reason.getMessage(), reason);
        }
    }

    // Called by streams.

    Executor executor() {
        return executor;
    }

    public Outbox outbox() {
        return outbox;
    }

    public Handles handles() {
        return handles;
    }

    public Codec codec() {
        return codec;
    }

    int maxPrefetch() {
        return maxPrefetch;
    }

    void countOut(long elements) {
        elementsOut.add(elements);
    }

    /**
     * Logs an error that the Subscriber of a stream does not receive, unless it is the error of an ended link: every
     * stream has one, and a stage forwards it from one stream to another.
     */
    static void logLate(long stream, Throwable error) {
        if (!(error instanceof LinkBrokenException || error instanceof LinkClosedException)) {
            Log.warning("stream " + stream + ": the Subscriber does not receive this error", error);
        }
    }

    void dropped(long elements) {
        dropped.add(elements);
    }

    void ended(InboundStream stream) {
        if (streams.containsKey(stream.id())) {
            if (stream.discardsLate()) {
                lateStreams.put(stream.id(), stream); // first: the reader may receive a batch at any time
                if (closeReason != null) {
                    lateStreams.clear();
                }
            }
            streams.remove(stream.id());
            elementsIn.add(stream.delivered());
            largestInFlight.accumulateAndGet(stream.largestInFlight(), Math::max);
        }
    }

    void ended(OutboundStream stream) {
        streams.remove(stream.id());
    }

    private long nextStream() {
        return nextStream.getAndAdd(2);
    }

    private void register(long id, DrainLoop stream) {
        streamsTotal.incrementAndGet();
        streams.put(id, stream);
        RuntimeException reason = closeReason;
        if (reason != null) {
            end(stream, reason); // lost() may have read the table before the stream was in it
        }
    }

    private static void end(DrainLoop stream, RuntimeException reason) {
        if (stream instanceof InboundStream) {
            ((InboundStream) stream).linkLost(reason);
        } else {
            ((OutboundStream) stream).receiveCancel();
        }
    }

    // Called by the reader.

    /**
     * Processes one message without running user code.
     *
     * @throws ProtocolException if the message is malformed, which must end the link
     */
    public void receive(Frame message) {
        DrainLoop stream = streams.get(message.id);
        switch (message.type) {
            case NEXT:
            case NEXT_HOME:
                if (isLive(InboundStream.class, stream, message)) {
                    ((InboundStream) stream).receiveBatch(message.body, message.type == FrameType.NEXT_HOME);
                } else {
                    Frames.batchSize(message.body);
                    receiveLate(message);
                }
                break;
            case REQUEST:
                requireSize(message, 8);
                if (isLive(OutboundStream.class, stream, message)) {
                    ((OutboundStream) stream)
                            .receiveRequest(ByteBuffer.wrap(message.body).getLong());
                }
                break;
            case CANCEL:
                requireSize(message, 0);
                if (isLive(OutboundStream.class, stream, message)) {
                    ((OutboundStream) stream).receiveCancel();
                }
                break;
            case COMPLETE:
                requireSize(message, 0);
                if (isLive(InboundStream.class, stream, message)) {
                    ((InboundStream) stream).receiveTerminal(null);
                }
                break;
            case ERROR:
                Throwable error = codec.decodeError(message);
                if (isLive(InboundStream.class, stream, message)) {
                    ((InboundStream) stream).receiveTerminal(error);
                }
                break;
            case SUBSCRIBED:
                requireSize(message, 0);
                isLive(InboundStream.class, stream, message); // this side requests no confirmation
                break;
            case SUBSCRIBE:
            case ON_SUBSCRIBE:
                receiveOpening(message, stream);
                break;
            case CALL:
                calls.receiveCall(message);
                break;
            case RETURN:
                calls.receiveReturn(message);
                break;
            case RELEASE:
                receiveRelease(message);
                break;
            default:
                throw new ProtocolException("malformed frame: " + message.type + " is not allowed here");
        }
    }

    /**
     * Returns whether the stream of a frame is live; the frame of a finished stream is dropped.
     *
     * @throws ProtocolException if the live stream has the opposite direction
     */
    private static boolean isLive(Class<? extends DrainLoop> side, DrainLoop stream, Frame message) {
        if (stream != null && !side.isInstance(stream)) {
            throw new ProtocolException("malformed frame: " + message + ", but the stream has the opposite direction");
        }
        return stream != null;
    }

    private static void requireSize(Frame message, int size) {
        if (message.body.length != size) {
            throw new ProtocolException(
                    "malformed " + message.type + ": " + message.body.length + " bytes instead of " + size);
        }
    }

    /** Drops the batch of a stream that is not live, or passes it to the stream's function for dropped elements. */
    private void receiveLate(Frame message) {
        InboundStream late = lateStreams.get(message.id);
        if (late == null) {
            codec.discard(message.body);
            return;
        }
        late.receiveBatch(message.body, message.type == FrameType.NEXT_HOME);
        if (!late.discardsLate()) {
            lateStreams.remove(message.id);
        }
    }

    private void receiveOpening(Frame message, DrainLoop known) {
        Codec.Entries body = codec.decodeEntries(message, Long.class, Map.class);
        FrameType type = message.type;
        long handle = (Long) body.get(0);
        if (handle < 1) {
            throw new ProtocolException("malformed " + type + ": " + handle + " is not a handle");
        }
        if (message.id % 2 == nextStream.get() % 2 || known != null) {
            throw new ProtocolException("malformed " + type + ": the peer may not open stream " + message.id);
        }
        Map<?, ?> options = body.failure() == null ? (Map<?, ?>) body.get(1) : Map.of();
        if (type == FrameType.SUBSCRIBE) {
            receiveSubscribe(message.id, handle, options, body.failure());
        } else {
            receiveOnSubscribe(message.id, handle, options, body.failure());
        }
    }

    private static IllegalStateException tooManyStreams() {
        return new IllegalStateException("the link has " + MAX_STREAMS + " live streams, its limit (link.streams):"
                + " cancel some of them, merge streams before they cross, or open another bridge");
    }

    private void receiveSubscribe(long id, long handle, Map<?, ?> options, RuntimeException failure) {
        if (streams.size() >= MAX_STREAMS) {
            byte[] error = codec.encodeError(tooManyStreams());
            Frames.writeHeader(error, 0, FrameType.ERROR, false, id, error.length - Frames.HEADER);
            outbox.control(error);
            outbox.wakeWriter();
            return;
        }
        Conversion conversion = Conversion.AUTO;
        Throwable invalid = failure;
        try {
            conversion = Conversion.of(options.get("convert"));
        } catch (RuntimeException error) {
            invalid = error;
        }
        // The target is looked up before the task runs, since RELEASE may be the next frame.
        Object target = handles.find(handle);
        Throwable refusal = target == null ? Handles.missing(handle) : invalid;
        boolean confirm = Boolean.TRUE.equals(options.get("confirm"));
        OutboundStream stream = new OutboundStream(this, id, conversion, handles.boxesOf(handle));
        if (options.get("request") instanceof Long) {
            stream.receiveRequest((Long) options.get("request"));
        }
        register(id, stream);
        executor.execute(() -> {
            try {
                if (refusal != null) {
                    throw refusal;
                }
                Object publisher = SingleTypes.toPublisher(target);
                Families.subscribe(ReactorContexts.with(publisher, options.get("context")), stream);
            } catch (Throwable error) {
                stream.fail(error);
            }
            if (confirm) {
                stream.confirm();
            }
        });
    }

    private void receiveOnSubscribe(long id, long handle, Map<?, ?> options, RuntimeException failure) {
        // If the link has too many streams, the Subscriber is not claimed, so that a later attempt may use it.
        Object subscriber = streams.size() >= MAX_STREAMS ? null : handles.claimSubscriber(handle);
        if (subscriber == null) {
            outbox.control(Frames.frame(FrameType.CANCEL, id, Frames.NOTHING));
            outbox.wakeWriter();
            return;
        }
        StreamOptions chosen = Boolean.TRUE.equals(options.get("exact")) ? StreamOptions.EXACT : StreamOptions.DEFAULT;
        InboundStream stream = new InboundStream(this, id, Families.subscriber(subscriber), chosen);
        register(id, stream);
        if (failure != null) {
            stream.reject(failure);
        }
        executor.execute(stream::start);
    }

    private void receiveRelease(Frame message) {
        if (message.body.length == 0 || message.body.length % 12 != 0) {
            throw new ProtocolException(
                    "malformed RELEASE: " + message.body.length + " bytes are not a list of handles and counts");
        }
        handles.receiveRelease(ByteBuffer.wrap(message.body));
    }

    // Termination.

    /** Ends the session: Subscribers receive the error, upstream Subscriptions are cancelled, tables are cleared. */
    public void lost(RuntimeException reason) {
        synchronized (streams) {
            if (closeReason != null) {
                return;
            }
            closeReason = reason;
        }
        outbox.close();
        calls.lost(reason);
        for (DrainLoop stream : new ArrayList<>(streams.values())) {
            end(stream, reason);
        }
        lateStreams.clear();
        handles.close();
        codec.close();
    }

    /** Encodes a GOAWAY frame. */
    public byte[] goAway(GoAwayReason reason, String message) {
        return codec.frame(FrameType.GOAWAY, 0, List.of((long) reason.code(), message));
    }

    public int streamsLive() {
        return streams.size();
    }

    /** Returns the counters of the session for {@code Bridge.stats()}. */
    public Map<String, Object> stats() {
        long in = elementsIn.sum();
        long inFlight = largestInFlight.get();
        long demand = 0;
        for (DrainLoop stream : streams.values()) {
            if (stream instanceof InboundStream) {
                in += ((InboundStream) stream).delivered();
                inFlight = Math.max(inFlight, ((InboundStream) stream).largestInFlight());
                demand = Window.addDemand(demand, ((InboundStream) stream).demand());
            } else {
                demand = Window.addDemand(demand, ((OutboundStream) stream).inFlight());
            }
        }
        Map<String, Object> stats = new LinkedHashMap<>();
        stats.put("streams_live", (long) streams.size());
        stats.put("streams_total", streamsTotal.get());
        stats.put("inbound_elements", in);
        stats.put("outbound_elements", elementsOut.sum());
        stats.put("frames_out", outbox.framesOut());
        stats.put("bytes_out", outbox.bytesOut());
        stats.put("dropped", dropped.sum());
        stats.put("in_flight_max", inFlight);
        stats.put("demand", demand);
        stats.put("handles_owned", (long) handles.ownedCount());
        stats.put("handles_held", (long) handles.heldCount());
        return stats;
    }
}
