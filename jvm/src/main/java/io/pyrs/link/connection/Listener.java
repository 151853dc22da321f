package io.pyrs.link.connection;

import io.pyrs.Limits;
import io.pyrs.Log;
import io.pyrs.link.protocol.Frame;
import io.pyrs.link.protocol.FrameDecoder;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import io.pyrs.link.protocol.GoAwayReason;
import io.pyrs.link.protocol.Handshake;
import io.pyrs.link.protocol.ProtocolException;
import io.pyrs.link.session.Codec;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Listens on an ephemeral port of 127.0.0.1 until one connection proves that it has the token, then closes the port.
 *
 * <p>An unauthenticated connection must send its proof within five seconds. At most eight of them are open at a time: a
 * ninth closes the oldest, so that connections without the token cannot keep out the one that has it. The port closes
 * after thirty seconds without a successful proof.
 */
final class Listener {
    static final int MAX_UNPROVEN = Limits.of("handshake.connections");
    private static final long ACCEPTOR_JOIN_MILLIS = 5_000; // a loaded machine may need seconds
    static final int UNPROVEN_MILLIS = Limits.of("handshake.connection_ms");
    static final int OPEN_MILLIS = Limits.of("handshake.listener_ms");

    /** Receives the outcome: exactly one method is called, once. */
    interface Outcome {
        /** A connection proved the token. {@code early} contains the messages received with the handshake. */
        void connected(Socket socket, FrameDecoder decoder, List<Frame> early);

        /** No connection proved the token. */
        void expired(String why);
    }

    private final String name;
    private final byte[] token;
    private final Outcome outcome;
    private final ServerSocket server;
    private final ArrayDeque<Socket> unproven = new ArrayDeque<>();
    private boolean finished;
    private int accepted;
    private volatile Thread acceptor;

    Listener(String name, byte[] token, Outcome outcome) throws IOException {
        this.name = name;
        this.token = token.clone();
        this.outcome = outcome;
        server = new ServerSocket();
        server.bind(
                new InetSocketAddress(InetAddress.getByAddress("127.0.0.1", new byte[] {127, 0, 0, 1}), 0),
                MAX_UNPROVEN);
    }

    int port() {
        return server.getLocalPort();
    }

    void start() {
        acceptor = thread(this::accept, "listener");
        acceptor.start();
    }

    private Thread thread(Runnable body, String role) {
        Thread thread = new Thread(body, "pyrs-" + name + "-" + role);
        thread.setDaemon(true);
        return thread;
    }

    private void accept() {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(OPEN_MILLIS);
        String why = "no connection proved the token in time";
        try {
            long left;
            while ((left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime())) > 0) {
                server.setSoTimeout((int) left);
                Socket socket = server.accept();
                admit(socket);
                thread(() -> open(socket), "opening-" + ++accepted).start();
            }
        } catch (SocketTimeoutException late) {
            Log.debug(why, late);
        } catch (IOException closed) {
            why = "the listener was closed";
        }
        if (finish()) {
            outcome.expired(why);
        }
    }

    private void admit(Socket socket) {
        Socket oldest = null;
        synchronized (this) {
            unproven.add(socket);
            if (unproven.size() > MAX_UNPROVEN) {
                oldest = unproven.poll();
            }
        }
        close(oldest);
    }

    /** Keeps {@link #admit} from closing a connection with a valid proof. Returns false if admit has closed it. */
    private synchronized boolean keep(Socket socket) {
        return unproven.remove(socket);
    }

    private void open(Socket socket) {
        boolean won = false;
        try {
            socket.setTcpNoDelay(true);
            FrameDecoder decoder = new FrameDecoder(Frames.UNPROVEN_MAX_LENGTH);
            Handshake handshake = new Handshake(token);
            socket.getOutputStream().write(handshake.hello());
            List<Frame> messages = read(socket, decoder);
            byte[] proof;
            try {
                proof = handshake.proof(messages.remove(0));
            } catch (Handshake.VersionException version) {
                socket.getOutputStream().write(goAwayForVersion(version.getMessage()));
                return;
            }
            won = keep(socket) && finish();
            if (won) {
                awaitAcceptor();
                socket.getOutputStream().write(proof);
                socket.setSoTimeout(0);
                decoder.setMaxLength(Frames.MAX_LENGTH);
                outcome.connected(socket, decoder, messages);
            }
        } catch (IOException | ProtocolException refused) {
            Log.debug("a connection was rejected", refused);
            if (won) {
                outcome.expired("the connection ended during the handshake");
            }
        } finally {
            synchronized (this) {
                unproven.remove(socket);
            }
            if (!won) {
                close(socket);
            }
        }
    }

    private static List<Frame> read(Socket socket, FrameDecoder decoder) throws IOException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(UNPROVEN_MILLIS);
        InputStream in = socket.getInputStream();
        byte[] buffer = new byte[256];
        while (true) {
            // The deadline covers the whole handshake: a peer that sends single bytes must not extend it.
            long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            if (left <= 0) {
                throw new SocketTimeoutException("no proof in time");
            }
            socket.setSoTimeout((int) left);
            int size = in.read(buffer);
            if (size < 0) {
                throw new IOException("closed before its proof");
            }
            List<Frame> messages = decoder.feed(buffer, 0, size);
            if (!messages.isEmpty()) {
                return messages;
            }
        }
    }

    /** Waits for the acceptor thread: a closed port accepts connections until that thread leaves accept. */
    private void awaitAcceptor() {
        Thread waiting = acceptor;
        if (waiting == null) {
            return; // never started
        }
        try {
            waiting.join(ACCEPTOR_JOIN_MILLIS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static byte[] goAwayForVersion(String message) {
        return new Codec(null).frame(FrameType.GOAWAY, 0, List.of((long) GoAwayReason.VERSION.code(), message));
    }

    /** Closes the port and clears the token. Returns whether this is the first call. */
    private synchronized boolean finish() {
        if (finished) {
            return false;
        }
        finished = true;
        Arrays.fill(token, (byte) 0);
        try {
            server.close();
        } catch (IOException ignored) {
            Log.debug("closing the listener failed", ignored);
        }
        return true;
    }

    /** Closes the port and all connections, unless a connection has proved the token. */
    void close() {
        if (finish()) {
            List<Socket> left;
            synchronized (this) {
                left = List.copyOf(unproven);
            }
            left.forEach(Listener::close);
            awaitAcceptor();
            outcome.expired("the bridge was closed");
        }
    }

    private static void close(Socket socket) {
        if (socket != null) {
            try {
                socket.close();
            } catch (IOException ignored) {
                Log.debug("closing a rejected connection failed", ignored);
            }
        }
    }
}
