package io.pyrs.benchmarks;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * The JVM's side of the contender "limit" from Python to the JVM: reads NEXT frames from a bare socket, decodes them
 * and calls {@code onNext} for each element.
 */
public final class RawSink {
    private RawSink() {
    }

    /** Listens on loopback and returns the port; the first connection feeds the Subscriber until it is closed. */
    public static int listen(Subscriber<Object> subscriber) throws IOException {
        subscriber.onSubscribe(new NoDemand());
        ServerSocket listener = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"));
        Thread thread = new Thread(() -> receive(listener, subscriber), "benchmark-sink");
        thread.setDaemon(true);
        thread.start();
        return listener.getLocalPort();
    }

    private static void receive(ServerSocket listener, Subscriber<Object> subscriber) {
        try (listener; Socket peer = listener.accept();
                DataInputStream input = new DataInputStream(new BufferedInputStream(peer.getInputStream(), 1 << 18))) {
            while (true) {
                byte[] rest = new byte[input.readInt()];
                input.readFully(rest);
                if (rest[0] == 0) { // one element, which needs no decoder
                    subscriber.onNext(rest);
                    continue;
                }
                ByteBuffer body = ByteBuffer.wrap(rest, 9, rest.length - 9);
                for (int left = arraySize(body); left > 0; left--) {
                    subscriber.onNext(decode(body));
                }
            }
        } catch (EOFException end) {
            subscriber.onComplete();
        } catch (IOException | RuntimeException failure) {
            subscriber.onError(failure);
        }
    }

    private static int arraySize(ByteBuffer body) {
        int head = body.get() & 0xff;
        return head == 0xdc ? body.getShort() & 0xffff : head & 0x0f;
    }

    // Decodes only the msgpack formats of the benchmark elements.
    private static Object decode(ByteBuffer body) {
        int head = body.get() & 0xff;
        if (head < 0x80) {
            return (long) head;
        }
        if (head < 0x90) {
            return map(body, head & 0x0f);
        }
        if (head >= 0xa0 && head < 0xc0) {
            String text = new String(body.array(), body.position(), head & 0x1f, StandardCharsets.UTF_8);
            body.position(body.position() + (head & 0x1f));
            return text;
        }
        switch (head) {
            case 0xcb:
                return body.getDouble();
            case 0xcc:
                return (long) (body.get() & 0xff);
            case 0xcd:
                return (long) (body.getShort() & 0xffff);
            case 0xce:
                return body.getInt() & 0xffffffffL;
            case 0xcf:
                return body.getLong();
            default:
                throw new IllegalArgumentException("no element of the benchmarks starts with " + head);
        }
    }

    private static Map<String, Object> map(ByteBuffer body, int size) {
        Map<String, Object> result = new LinkedHashMap<>();
        for (int left = size; left > 0; left--) {
            result.put((String) decode(body), decode(body));
        }
        return result;
    }

    /** Ignores requests, because the contender "limit" has no back pressure. */
    private static final class NoDemand implements Subscription {
        @Override
        public void request(long n) {
        }

        @Override
        public void cancel() {
        }
    }
}
