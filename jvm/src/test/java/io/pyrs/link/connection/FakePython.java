package io.pyrs.link.connection;

import io.pyrs.link.protocol.Frame;
import io.pyrs.link.protocol.FrameDecoder;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import io.pyrs.link.protocol.Handshake;
import io.pyrs.link.session.Handles;
import io.pyrs.value.Conversion;
import io.pyrs.value.ElementType;
import io.pyrs.value.ErrorCodec;
import io.pyrs.value.SentErrors;
import io.pyrs.value.ValueBuffer;
import io.pyrs.value.ValueDecoder;
import io.pyrs.value.ValueEncoder;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;

/** A test double of the Python side of a link, controlled frame by frame. */
final class FakePython implements Closeable {
    private final Socket socket;
    private final FrameDecoder decoder = new FrameDecoder(Frames.MAX_LENGTH);
    private final ArrayDeque<Frame> messages = new ArrayDeque<>();
    private final Handles handles = new Handles(reference -> reference);
    private final ErrorCodec errors = new ErrorCodec(new SentErrors());
    private boolean proven;

    /** Creates the Java side of a link, which is not started. */
    static Connection listener(byte[] token, long callTimeoutMillis) throws IOException {
        return listener(token, callTimeoutMillis, () -> {});
    }

    /** Creates the Java side of a link, whose writer thread runs {@code housekeeping} after each round. */
    static Connection listener(byte[] token, long callTimeoutMillis, Runnable housekeeping) throws IOException {
        return new Connection(
                "test",
                token.clone(),
                reference -> reference,
                FakePython.class.getClassLoader(),
                4096,
                256,
                callTimeoutMillis,
                housekeeping,
                () -> {});
    }

    /** Connects without a handshake. */
    FakePython(int port) throws IOException {
        socket = new Socket("127.0.0.1", port);
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(30_000);
    }

    /** Connects, and proves that it has the token. */
    FakePython(int port, byte[] token) throws IOException {
        this(port);
        byte[] hello = next().body;
        byte[] listener = Arrays.copyOfRange(hello, 2, 34);
        byte[] dialer = new byte[32];
        byte[] proof = Handshake.dialProof(token, listener, dialer);
        send(Frames.frame(
                FrameType.HELLO,
                0,
                ByteBuffer.allocate(66)
                        .putShort((short) 1)
                        .put(dialer)
                        .put(proof)
                        .array()));
        try {
            proven = Arrays.equals(next().body, Handshake.listenProof(token, listener, dialer));
        } catch (IOException refused) {
            proven = false;
        }
    }

    boolean isProven() {
        return proven;
    }

    void send(byte[] bytes) throws IOException {
        socket.getOutputStream().write(bytes);
    }

    void send(FrameType type, long id, Object value) throws IOException {
        ValueBuffer buffer = new ValueBuffer();
        new ValueEncoder(handles, Conversion.AUTO).encode(value, buffer);
        send(Frames.frame(type, id, buffer.take()));
    }

    void sendError(long id, Throwable error) throws IOException {
        send(Frames.frame(FrameType.ERROR, id, errors.encode(error, 0)));
    }

    /** Returns the next frame from Java. */
    Frame next() throws IOException {
        byte[] buffer = new byte[64 * 1024];
        while (messages.isEmpty()) {
            int size = socket.getInputStream().read(buffer);
            if (size < 0) {
                throw new EOFException("the link was closed");
            }
            messages.addAll(decoder.feed(buffer, 0, size));
        }
        return messages.poll();
    }

    /** Returns the next frame of a type and skips others. */
    Frame next(FrameType type) throws IOException {
        Frame frame;
        do {
            frame = next();
        } while (frame.type != type);
        return frame;
    }

    Object decode(byte[] body) {
        return new ValueDecoder(handles, ElementType.ANY).decode(body);
    }

    Throwable decodeError(byte[] body) {
        return errors.decode(body);
    }

    /** Sends a barrier CALL, which Java answers after it has read all earlier frames. */
    Object barrier(Object value) throws IOException {
        send(FrameType.CALL, 99, List.of(0L, List.of(value)));
        return ((List<?>) decode(next(FrameType.RETURN).body)).get(1);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
