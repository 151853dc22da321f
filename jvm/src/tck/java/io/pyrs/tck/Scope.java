package io.pyrs.tck;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.security.MessageDigest;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The connections of one test, and the Java objects that Python references. It is closed at the end of the test, so
 * that no late signal reaches another test.
 */
final class Scope {
    private static final int TIMEOUT_MILLIS = 5_000;

    private final byte[] token;
    private final int port;
    private final ServerSocket listener;
    private final ThreadLocal<ThreadConnection> current = new ThreadLocal<>();
    private final Set<ThreadConnection> connections = ConcurrentHashMap.newKeySet();
    private final Map<Long, Object> objects = new HashMap<>();
    private final Map<Object, long[]> numbers = new IdentityHashMap<>();
    private long lastNumber;
    private volatile boolean closed;

    Scope(byte[] token, int port) throws IOException {
        this.token = token;
        this.port = port;
        this.listener = new ServerSocket();
        listener.bind(new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), 0));
    }

    int listen() {
        start("pyrs-tck-listener", () -> {
            while (!closed) {
                try {
                    var socket = listener.accept();
                    start("pyrs-tck", () -> accept(socket));
                } catch (IOException closed) {
                    return;
                }
            }
        });
        return listener.getLocalPort();
    }

    private static void start(String name, Runnable task) {
        var thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.setContextClassLoader(Scope.class.getClassLoader());
        thread.start();
    }

    private void accept(Socket socket) {
        try {
            socket.setSoTimeout(TIMEOUT_MILLIS);
            if (!MessageDigest.isEqual(socket.getInputStream().readNBytes(token.length), token)) {
                socket.close();
                return;
            }
            var connection = new ThreadConnection(this, socket);
            Thread.currentThread().setName("Python's " + connection.peerThreadName());
            socket.setSoTimeout(0);
            keep(connection);
            current.set(connection);
            connection.serve();
        } catch (IOException gone) {
            // The peer closed the connection.
        }
    }

    /** Returns the connection of the current thread, which belongs to one Python thread until the end of the test. */
    ThreadConnection connection() {
        var connection = current.get();
        if (connection == null) {
            try {
                var socket = new Socket();
                socket.connect(new InetSocketAddress(listener.getInetAddress(), port), TIMEOUT_MILLIS);
                socket.getOutputStream().write(token);
                connection = new ThreadConnection(this, socket);
            } catch (IOException gone) {
                connection = new ThreadConnection(this);
            }
            keep(connection);
            current.set(connection);
        }
        return connection;
    }

    /** Returns whether a Python thread is connected to the current thread. */
    boolean isBound() {
        return current.get() != null;
    }

    private void keep(ThreadConnection connection) {
        connections.add(connection);
        if (closed) connection.close();
    }

    void closed(ThreadConnection connection) {
        connections.remove(connection);
    }

    boolean isClosed() {
        return closed;
    }

    void close() {
        closed = true;
        try {
            listener.close();
        } catch (IOException ignored) {
            // Nothing is left to close.
        }
        connections.forEach(ThreadConnection::close);
        synchronized (objects) {
            objects.clear();
            numbers.clear();
        }
    }

    /** Returns the number of an object that is about to be sent to Python, and counts the transfer. */
    long number(Object object) {
        synchronized (objects) {
            var known = numbers.computeIfAbsent(object, key -> new long[] {++lastNumber, 0});
            known[1]++;
            objects.put(known[0], object);
            return known[0];
        }
    }

    Object object(long number) {
        synchronized (objects) {
            var found = objects.get(number);
            if (found == null && !closed) throw new IllegalStateException("unknown number of a Java object: " + number);
            return found;
        }
    }

    /** Returns whether the object was sent to Python. */
    boolean knows(Object object) {
        synchronized (objects) {
            return numbers.containsKey(object);
        }
    }

    /** Drops an object once Python has released each transfer that {@link #number} counted (rule 3.13). */
    void release(long number, long times) {
        synchronized (objects) {
            var object = objects.get(number);
            if (object == null) return;
            var known = numbers.get(object);
            known[1] -= times;
            if (known[1] <= 0) {
                objects.remove(number);
                numbers.remove(object);
            }
        }
    }
}
