package io.pyrs.link.connection;

import io.pyrs.Log;
import io.pyrs.link.session.Outbox;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;

/**
 * Collects frames until a flush, and writes them to the socket in one call. Large frames bypass an empty buffer. The
 * outbox writes nothing before {@link Outbox#open}, which follows {@link #connect}.
 */
final class SocketSink implements Outbox.Sink {
    /** The size of the largest frame that is sent, and the most bytes that the JDK writes in one system call. */
    private static final int CAPACITY = 128 * 1024;

    private volatile Socket socket;
    private OutputStream out;
    private final byte[] buffer = new byte[CAPACITY];
    private int filled;

    void connect(Socket connected) throws IOException {
        out = connected.getOutputStream();
        socket = connected;
    }

    boolean isConnected() {
        return socket != null;
    }

    @Override
    public void write(byte[] bytes, int offset, int length) {
        if (length > buffer.length - filled) {
            flush();
        }
        if (filled == 0 && length > buffer.length / 2) {
            send(bytes, offset, length);
        } else {
            System.arraycopy(bytes, offset, buffer, filled, length);
            filled += length;
        }
    }

    @Override
    public void flush() {
        int size = filled;
        filled = 0;
        if (size > 0) {
            send(buffer, 0, size);
        }
    }

    private void send(byte[] bytes, int offset, int length) {
        try {
            out.write(bytes, offset, length);
        } catch (IOException | OutOfMemoryError broken) { // the JDK copies to direct memory, which may be exhausted
            Log.debug("the link's socket failed", broken);
            endOutput();
        }
    }

    /**
     * Shuts the output down; the reader ends the session later. A close would discard the frames that have arrived and are not read,
     * such as the last elements of a peer that has ended.
     */
    private void endOutput() {
        try {
            socket.shutdownOutput();
        } catch (IOException ignored) {
            Log.debug("the link's socket was closed already", ignored);
        }
    }

    void close() {
        try {
            if (isConnected()) {
                socket.close();
            }
        } catch (IOException ignored) {
            Log.debug("closing the link's socket failed", ignored);
        }
    }
}
