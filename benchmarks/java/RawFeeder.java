package io.pyrs.benchmarks;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.FileChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * The JVM's side of the contender "limit" from the JVM to Python: sends a file of prepared frames to the first client,
 * as fast as the socket accepts the bytes.
 */
public final class RawFeeder {
    private RawFeeder() {
    }

    /** Listens on loopback and returns the port; a new thread sends the file. */
    public static int feed(String file) throws IOException {
        ServerSocketChannel listener = ServerSocketChannel.open();
        listener.bind(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0));
        Thread thread = new Thread(() -> send(listener, Path.of(file)), "benchmark-feeder");
        thread.setDaemon(true);
        thread.start();
        return ((InetSocketAddress) listener.getLocalAddress()).getPort();
    }

    private static void send(ServerSocketChannel listener, Path file) {
        try (listener; SocketChannel peer = listener.accept();
                FileChannel source = FileChannel.open(file, StandardOpenOption.READ)) {
            long size = source.size();
            for (long sent = 0; sent < size;) {
                sent += source.transferTo(sent, size - sent, peer);
            }
        } catch (IOException failure) {
            throw new IllegalStateException(failure);
        }
    }
}
