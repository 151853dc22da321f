package io.pyrs.link;

import io.pyrs.value.Conversion;
import io.pyrs.value.ElementType;
import io.pyrs.value.Errors;
import io.pyrs.value.Originals;
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

/** The dialling side of a link, frame by frame: what the tests let Python do. */
final class FakePython implements Closeable {
    private final Socket socket;
    private final FrameDecoder decoder = new FrameDecoder(Frames.MAX_LENGTH);
    private final ArrayDeque<Frame> messages = new ArrayDeque<>();
    private final Handles handles = new Handles(reference -> reference);
    private final Errors errors = new Errors(new Originals());
    private boolean proven;

    /** Connects and says nothing. */
    FakePython(int port) throws IOException {
        socket = new Socket("127.0.0.1", port);
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(30_000);
    }

    /** Connects and proves that it knows the token. */
    FakePython(int port, byte[] token) throws IOException {
        this(port);
        byte[] hello = next().body;
        byte[] listener = Arrays.copyOfRange(hello, 2, 34);
        byte[] dialler = new byte[32];
        byte[] proof = Handshake.dialProof(token, listener, dialler);
        send(Frames.frame(FrameType.HELLO, 0, ByteBuffer.allocate(66).putShort((short) 1).put(dialler).put(proof).array()));
        try {
            proven = Arrays.equals(next().body, Handshake.listenProof(token, listener, dialler));
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

    void send(int type, long id, Object value) throws IOException {
        ValueBuffer buffer = new ValueBuffer();
        new ValueEncoder(handles, Conversion.AUTO).encode(value, buffer);
        send(Frames.frame(type, id, buffer.take()));
    }

    void sendError(long id, Throwable error) throws IOException {
        send(Frames.frame(FrameType.ERROR, id, errors.encode(error)));
    }

    /** The next frame that Java sends. */
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

    /** The next frame of this type; others are passed over. */
    Frame next(int type) throws IOException {
        Frame frame;
        do {
            frame = next();
        } while (frame.type != type);
        return frame;
    }

    Object decode(byte[] body) {
        return new ValueDecoder(handles, ElementType.ANY).decode(body, 0, body.length);
    }

    Throwable decodeError(byte[] body) {
        return errors.decode(body, 0, body.length);
    }

    /** A CALL to nobody: answered when everything before it was read. */
    Object barrier(Object value) throws IOException {
        send(FrameType.CALL, 99, List.of(0L, List.of(value)));
        return ((List<?>) decode(next(FrameType.RETURN).body)).get(1);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
