package io.pyrs.link;

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
 * Waits for the one connection that proves the token, on an ephemeral port of 127.0.0.1, and closes then.
 *
 * <p>Until its proof a connection is held five seconds at most, and eight of them at a time: a ninth pushes the oldest out, so that those
 * who know no token cannot keep out the one who does. After thirty seconds the listener closes without one.
 */
final class Listener {
    static final int MAX_UNPROVEN = 8;
    private static final long ACCEPTOR_ENDS_MILLIS = 5_000; // on a machine that hardly runs it
    static final int UNPROVEN_MILLIS = 5_000;
    static final int OPEN_MILLIS = 30_000;

    /** What becomes of it: exactly one of these is called, once. */
    interface Outcome {
        /** A connection proved the token. What its decoder had read beyond the opening is in {@code early}. */
        void connected(Socket socket, FrameDecoder decoder, List<Frame> early);

        /** Nobody did. */
        void expired(String why);
    }

    private final String name;
    private final byte[] token;
    private final Outcome outcome;
    private final ServerSocket server;
    private final ArrayDeque<Socket> unproven = new ArrayDeque<>();
    private boolean over;
    private int accepted;
    private volatile Thread acceptor;

    Listener(String name, byte[] token, Outcome outcome) throws IOException {
        this.name = name;
        this.token = token.clone();
        this.outcome = outcome;
        server = new ServerSocket();
        server.bind(new InetSocketAddress(InetAddress.getByAddress("127.0.0.1", new byte[] {127, 0, 0, 1}), 0), MAX_UNPROVEN);
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
        String why = "nobody connected in time";
        try {
            long left;
            while ((left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime())) > 0) {
                server.setSoTimeout((int) left);
                Socket socket = server.accept();
                admit(socket);
                thread(() -> open(socket), "opening-" + ++accepted).start();
            }
        } catch (SocketTimeoutException nobody) {
            Log.debug(why, nobody);
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
            won = finish();
            if (won) {
                awaitAcceptor();
                socket.getOutputStream().write(proof);
                socket.setSoTimeout(0);
                decoder.setMaxLength(Frames.MAX_LENGTH);
                outcome.connected(socket, decoder, messages);
            }
        } catch (IOException | ProtocolException refused) {
            Log.debug("a connection was refused", refused);
            if (won) {
                outcome.expired("the connection ended while it was being opened");
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
            // A byte now and then does not win more time: the deadline is the connection's, not the read's.
            long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            if (left <= 0) {
                throw new SocketTimeoutException("no proof came in time");
            }
            socket.setSoTimeout((int) left);
            int size = in.read(buffer);
            if (size < 0) {
                throw new IOException("closed before its proof came");
            }
            List<Frame> messages = decoder.feed(buffer, 0, size);
            if (!messages.isEmpty()) {
                return messages;
            }
        }
    }

    /** The kernel keeps a closed port open as long as a thread waits at it: whoever is told that it is closed finds it shut. */
    private void awaitAcceptor() {
        Thread waiting = acceptor;
        if (waiting == null) {
            return; // never started
        }
        try {
            waiting.join(ACCEPTOR_ENDS_MILLIS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static byte[] goAwayForVersion(String message) {
        return new Codec(null).frame(FrameType.GOAWAY, 0, List.of(3L, message));
    }

    /** True for the first caller: the port is closed, the token forgotten, everybody else sent away. */
    private synchronized boolean finish() {
        if (over) {
            return false;
        }
        over = true;
        Arrays.fill(token, (byte) 0);
        try {
            server.close();
        } catch (IOException ignored) {
            Log.debug("the listener's port", ignored);
        }
        return true;
    }

    /** Closes the port before anybody came. */
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
                Log.debug("a refused connection", ignored);
            }
        }
    }
}
