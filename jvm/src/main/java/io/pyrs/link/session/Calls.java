package io.pyrs.link.session;

import io.pyrs.Limits;
import io.pyrs.invoke.Invocation;
import io.pyrs.link.protocol.Frame;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.value.Conversion;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Calls objects of the peer, and answers the calls of the peer, with CALL and RETURN. Local calls have a deadline; calls
 * of the peer run on the worker pool.
 */
final class Calls {
    static final long BARRIER = 0;
    private static final int MAX_PENDING = Limits.of("call.pending");
    private static final long MAX_PENDING_BYTES = (long) Limits.of("call.pending_mib") << 20;

    private final Session session;
    private final long deadlineMillis;
    private final AtomicInteger pending = new AtomicInteger();
    private final AtomicLong pendingBytes = new AtomicLong();
    private final AtomicLong lastId = new AtomicLong();
    private final Map<Long, CompletableFuture<Codec.Entries>> waiting = new ConcurrentHashMap<>();

    Calls(Session session, long deadlineMillis) {
        this.session = session;
        this.deadlineMillis = deadlineMillis;
    }

    /**
     * Calls an object of the peer and waits for the result.
     *
     * @throws Throwable the exception raised in Python, a TimeoutException after the deadline, or the reason why
     *     the link ended
     */
    Object call(long handle, List<Object> arguments, Conversion conversion) throws Throwable {
        session.ensureOpen();
        long id = lastId.incrementAndGet();
        CompletableFuture<Codec.Entries> answer = new CompletableFuture<>();
        waiting.put(id, answer);
        Codec.Entries pair;
        try {
            session.outbox().ready(session.codec().call(id, handle, arguments, conversion));
            session.outbox().flush();
            session.ensureOpen(); // the session may have ended before the call was added to the waiting calls
            pair = answer.get(deadlineMillis, TimeUnit.MILLISECONDS);
        } catch (TimeoutException late) {
            throw new TimeoutException("Python did not answer a call within " + deadlineMillis + " milliseconds");
        } catch (ExecutionException lost) {
            throw lost.getCause();
        } finally {
            waiting.remove(id);
        }
        return Codec.result(pair); // outside the try: the function may raise one of the exceptions above
    }

    /** Processes RETURN. Decodes it at once, since a RELEASE may follow. Drops it if the call has timed out. */
    void receiveReturn(Frame message) {
        Codec.Entries pair = session.codec().decodeAnswer(message);
        CompletableFuture<Codec.Entries> answer = waiting.remove(message.id);
        if (answer != null) {
            answer.complete(pair);
        }
    }

    /** Processes CALL. */
    void receiveCall(Frame message) {
        Codec.Entries body = session.codec().decodeEntries(message, Long.class, List.class);
        int size = message.body.length;
        if (pending.get() >= MAX_PENDING || pendingBytes.get() + size > MAX_PENDING_BYTES) {
            Object error = session.codec().wireError(tooMany(pending.get()));
            session.outbox().control(session.codec().frame(FrameType.RETURN, message.id, Arrays.asList(false, error)));
            session.outbox().wakeWriter();
            return;
        }
        pending.incrementAndGet();
        pendingBytes.addAndGet(size);
        long handle = (Long) body.get(0);
        // The target is looked up before the task runs, since RELEASE may be the next frame.
        Object target = handle == BARRIER ? null : session.handles().find(handle);
        session.executor().execute(() -> reply(answer(message.id, handle, target, body), size));
    }

    private static IllegalStateException tooMany(int pending) {
        return new IllegalStateException(pending + " calls to the JVM are not answered yet, and " + MAX_PENDING
                + " calls with " + MAX_PENDING_BYTES + " bytes of arguments are the limit of a link (call.pending,"
                + " call.pending_mib): wait for answers before further calls");
    }

    private OutgoingMessage answer(long id, long handle, Object target, Codec.Entries body) {
        try {
            if (body.failure() != null) {
                throw body.failure();
            }
            List<?> arguments = (List<?>) body.restored(1);
            Object result;
            if (handle == BARRIER) {
                result = arguments.isEmpty() ? null : arguments.get(0);
            } else if (target == null) {
                throw Handles.missing(handle);
            } else {
                result = Invocation.callFunction(target, arguments.toArray());
            }
            return session.codec().answer(id, true, result);
        } catch (Throwable error) {
            return session.codec().answer(id, false, session.codec().wireError(error));
        }
    }

    private void reply(OutgoingMessage answer, int size) {
        session.outbox().ready(answer.whenWritten(() -> {
            pending.decrementAndGet();
            pendingBytes.addAndGet(-size);
        }));
        session.outbox().flush();
    }

    /** Fails all waiting calls at the end of the link. */
    void lost(Throwable error) {
        waiting.values().forEach(answer -> answer.completeExceptionally(error));
        waiting.clear();
    }
}
