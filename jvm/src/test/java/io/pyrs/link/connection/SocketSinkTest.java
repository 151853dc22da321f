package io.pyrs.link.connection;

import static org.testng.Assert.assertEquals;

import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import org.testng.annotations.Test;

public class SocketSinkTest {
    /** The last elements of a stream may be in the socket when a write to a peer that has closed it fails. */
    @Test(timeOut = 120_000)
    public void bytesThatHaveArrivedAreReadAfterAFailedWrite() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket socket = new Socket(server.getInetAddress(), server.getLocalPort())) {
            Socket peer = server.accept();
            peer.getOutputStream().write(5);
            peer.close();
            SocketSink sink = new SocketSink();
            sink.connect(socket);
            while (!socket.isOutputShutdown() && !socket.isClosed()) {
                sink.write(new byte[1], 0, 1);
                sink.flush();
            }
            assertEquals(socket.getInputStream().read(), 5);
            assertEquals(socket.getInputStream().read(), -1);
        }
    }

    /** A part of the frames may be lost, so the connection must not continue. */
    @Test(timeOut = 120_000)
    public void writeThatFindsNoMemoryEndsTheConnection() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket socket = new Socket(server.getInetAddress(), server.getLocalPort()) {
                    @Override
                    public OutputStream getOutputStream() {
                        return new OutputStream() {
                            @Override
                            public void write(int value) {
                                throw new OutOfMemoryError("Direct buffer memory");
                            }
                        };
                    }
                }) {
            Socket peer = server.accept();
            SocketSink sink = new SocketSink();
            sink.connect(socket);
            sink.write(new byte[1], 0, 1);
            sink.flush();
            assertEquals(peer.getInputStream().read(), -1);
            peer.close();
        }
    }
}
