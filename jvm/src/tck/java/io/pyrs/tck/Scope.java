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
 * One test: its connections, and the objects of Java's that Python knows. When the test is over all of it goes, so that
 * nothing which comes late reaches another test.
 */
final class Scope {
    private static final int TIMEOUT_MILLIS = 5_000;

    private final byte[] token;
    private final int port;
    private final ServerSocket listener;
    private final ThreadLocal<Line> lines = new ThreadLocal<>();
    private final Set<Line> open = ConcurrentHashMap.newKeySet();
    private final Map<Long, Object> objects = new HashMap<>();
    private final Map<Object, long[]> numbers = new IdentityHashMap<>();
    private long latest;
    private volatile boolean over;

    Scope(byte[] token, int port) throws IOException {
        this.token = token;
        this.port = port;
        this.listener = new ServerSocket();
        listener.bind(new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), 0));
    }

    int listen() {
        start("pyrs-tck-listener", () -> {
            while (!over) {
                try {
                    var socket = listener.accept();
                    start("pyrs-tck", () -> welcome(socket));
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

    private void welcome(Socket socket) {
        try {
            socket.setSoTimeout(TIMEOUT_MILLIS);
            if (!MessageDigest.isEqual(socket.getInputStream().readNBytes(token.length), token)) {
                socket.close();
                return;
            }
            var line = new Line(this, socket);
            Thread.currentThread().setName("Python's " + line.introduction());
            socket.setSoTimeout(0);
            keep(line);
            lines.set(line);
            line.serve();
        } catch (IOException gone) {
            // Nobody is there any more.
        }
    }

    /** The connection of this thread: one thread here talks to one thread in Python, for good. */
    Line line() {
        var line = lines.get();
        if (line == null) {
            try {
                var socket = new Socket();
                socket.connect(new InetSocketAddress(listener.getInetAddress(), port), TIMEOUT_MILLIS);
                socket.getOutputStream().write(token);
                line = new Line(this, socket);
            } catch (IOException gone) {
                line = new Line(this);
            }
            keep(line);
            lines.set(line);
        }
        return line;
    }

    /** Whether a Python thread is waiting for what this thread does. */
    boolean isBound() {
        return lines.get() != null;
    }

    private void keep(Line line) {
        open.add(line);
        if (over) line.close();
    }

    void ended(Line line) {
        open.remove(line);
    }

    boolean isOver() {
        return over;
    }

    void close() {
        over = true;
        try {
            listener.close();
        } catch (IOException ignored) {
            // It is closed.
        }
        open.forEach(Line::close);
        synchronized (objects) {
            objects.clear();
            numbers.clear();
        }
    }

    /** The number of an object that is sent to Python, which counts how often it was sent. */
    long number(Object object) {
        synchronized (objects) {
            var known = numbers.computeIfAbsent(object, key -> new long[] {++latest, 0});
            known[1]++;
            objects.put(known[0], object);
            return known[0];
        }
    }

    Object object(long number) {
        synchronized (objects) {
            var found = objects.get(number);
            if (found == null && !over) throw new IllegalStateException("no object of Java's has the number " + number);
            return found;
        }
    }

    /** Whether Python was sent this object: it may have seen an exception pass. */
    boolean knows(Object object) {
        synchronized (objects) {
            return numbers.containsKey(object);
        }
    }

    /** Python has let go of an object that it had received so many times (3.13). */
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
