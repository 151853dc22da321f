package io.pyrs.link.connection;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertFalse;
import static org.testng.Assert.assertThrows;
import static org.testng.Assert.assertTrue;

import io.pyrs.ObjectKind;
import io.pyrs.PeerReference;
import io.pyrs.Vectors;
import io.pyrs.link.protocol.Frame;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import io.pyrs.link.protocol.Handshake;
import io.pyrs.link.protocol.ProtocolException;
import io.pyrs.link.session.RecordingSubscriber;
import io.pyrs.link.session.StreamOptions;
import java.io.IOException;
import java.net.ConnectException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.testng.annotations.DataProvider;
import org.testng.annotations.Test;

public class HandshakeTest {
    private static final byte[] TOKEN = new byte[32];
    private static final byte[] WRONG = "another token of thirty-two byte".getBytes();

    @DataProvider
    public Iterator<Object[]> vectors() throws IOException {
        return Vectors.rows("handshake.json");
    }

    @Test(dataProvider = "vectors")
    public void replaysVector(String name, Map<String, Object> vector) {
        byte[] token = Vectors.bytes(vector.get("token"));
        byte[] listener = Vectors.bytes(vector.get("nonce_j"));
        byte[] dialer = Vectors.bytes(vector.get("nonce_p"));
        assertEquals(Vectors.hex(Handshake.dialProof(token, listener, dialer)), vector.get("dial_proof"));
        byte[] body = ByteBuffer.allocate(66)
                .putShort((short) 1)
                .put(dialer)
                .put(Vectors.bytes(vector.get("dial_proof")))
                .array();
        byte[] answer = new Handshake(token, listener).proof(new Frame(FrameType.HELLO, 0, body));
        assertEquals(Vectors.hex(answer).substring(2 * Frames.HEADER), vector.get("listen_proof"));
    }

    @Test
    public void invalidHelloIsRejected() {
        byte[] nonce = new byte[32];
        byte[] body = ByteBuffer.allocate(66)
                .putShort((short) 1)
                .put(nonce)
                .put(new byte[32])
                .array();
        assertThrows(ProtocolException.class, () -> new Handshake(TOKEN).proof(new Frame(FrameType.HELLO, 0, body)));
        body[1] = 2;
        assertThrows(Handshake.VersionException.class, () -> new Handshake(TOKEN)
                .proof(new Frame(FrameType.HELLO, 0, body)));
        assertThrows(ProtocolException.class, () -> new Handshake(TOKEN).proof(new Frame(FrameType.PROOF, 0, body)));
        assertThrows(
                ProtocolException.class, () -> new Handshake(TOKEN).proof(new Frame(FrameType.HELLO, 0, new byte[1])));
    }

    private static Connection open() throws IOException {
        Connection connection = FakePython.listener(TOKEN, 1_000);
        connection.start();
        return connection;
    }

    @Test(timeOut = 120_000)
    public void onlyConnectionWithTheTokenIsAccepted() throws Exception {
        Connection connection = open();
        try (FakePython unauthenticated = new FakePython(connection.port(), WRONG)) {
            assertFalse(unauthenticated.isProven());
        }
        assertTrue(connection.isOpen());
        try (FakePython python = new FakePython(connection.port(), TOKEN)) {
            assertTrue(python.isProven());
            assertThrows(ConnectException.class, () -> new Socket("127.0.0.1", connection.port()).close());
            assertEquals(python.barrier("here"), "here");
        }
        connection.close();
    }

    @Test(timeOut = 120_000)
    public void silentConnectionsDoNotBlockTheOneWithTheToken() throws Exception {
        Connection connection = open();
        List<Socket> silent = new ArrayList<>();
        for (int i = 0; i < 3 * Listener.MAX_UNPROVEN; i++) {
            silent.add(new Socket("127.0.0.1", connection.port()));
        }
        try (FakePython python = new FakePython(connection.port(), TOKEN)) {
            assertTrue(python.isProven());
        }
        for (Socket socket : silent) {
            socket.close();
        }
        connection.close();
    }

    @Test(timeOut = 120_000)
    public void otherVersionReceivesGoAway() throws Exception {
        Connection connection = open();
        try (FakePython python = new FakePython(connection.port())) {
            python.next();
            python.send(Frames.frame(
                    FrameType.HELLO,
                    0,
                    ByteBuffer.allocate(66).putShort((short) 9).array()));
            Frame answer = python.next();
            assertEquals(answer.type, FrameType.GOAWAY);
            assertEquals(((List<?>) python.decode(answer.body)).get(0), 3L);
        }
        connection.close();
    }

    @Test(timeOut = 120_000)
    public void longFrameBeforeProofIsRejected() throws Exception {
        Connection connection = open();
        try (FakePython python = new FakePython(connection.port())) {
            python.next();
            python.send(Frames.frame(FrameType.HELLO, 0, new byte[200]));
            assertThrows(IOException.class, python::next);
        }
        assertTrue(connection.isOpen());
        connection.close();
    }

    @Test(timeOut = 120_000)
    public void closeBeforeConnectionEndsTheListener() throws Exception {
        Connection connection = open();
        connection.close();
        assertFalse(connection.isOpen());
        assertThrows(ConnectException.class, () -> new Socket("127.0.0.1", connection.port()).close());
        CountDownLatch notified = new CountDownLatch(1);
        connection
                .session()
                .subscribe(
                        new PeerReference(connection.session().handles(), ObjectKind.PUBLISHER, 7),
                        new RecordingSubscriber(notified::countDown),
                        StreamOptions.DEFAULT);
        assertTrue(notified.await(30, TimeUnit.SECONDS));
    }
}
