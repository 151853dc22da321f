package io.pyrs.link.protocol;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** The listening side of the handshake in docs/protocol.md, without I/O: one for each accepted connection. */
public final class Handshake {
    public static final int NONCE_BYTES = 32;
    public static final int PROOF_BYTES = 32;
    private static final byte[] DIAL = "pyrs 1 dial".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] LISTEN = "pyrs 1 listen".getBytes(StandardCharsets.US_ASCII);

    private final byte[] token;
    private final byte[] nonce;

    public Handshake(byte[] token) {
        this(token, randomNonce());
    }

    public Handshake(byte[] token, byte[] nonce) {
        this.token = token;
        this.nonce = nonce;
    }

    private static byte[] randomNonce() {
        byte[] nonce = new byte[NONCE_BYTES];
        new SecureRandom().nextBytes(nonce);
        return nonce;
    }

    /** Returns the first frame, the HELLO of this side. */
    public byte[] hello() {
        byte[] body = ByteBuffer.allocate(2 + NONCE_BYTES)
                .putShort((short) Frames.VERSION)
                .put(nonce)
                .array();
        return Frames.frame(FrameType.HELLO, 0, body);
    }

    /**
     * Verifies the HELLO of the connecting side and returns the PROOF of this side.
     *
     * @throws VersionException if the peer speaks another version
     * @throws ProtocolException if the frame is not a HELLO that proves the token
     */
    public byte[] proof(Frame message) {
        if (message.type != FrameType.HELLO || message.body.length < 2) {
            throw new ProtocolException("malformed handshake: the first frame is not a HELLO");
        }
        ByteBuffer body = ByteBuffer.wrap(message.body);
        int version = body.getShort() & 0xffff;
        if (version != Frames.VERSION) {
            throw new VersionException(
                    "the peer speaks version " + version + " of the link protocol, this jar speaks " + Frames.VERSION);
        }
        if (message.body.length != 2 + NONCE_BYTES + PROOF_BYTES) {
            throw new ProtocolException("malformed handshake: a HELLO of " + message.body.length + " bytes");
        }
        byte[] peerNonce = new byte[NONCE_BYTES];
        byte[] peerProof = new byte[PROOF_BYTES];
        body.get(peerNonce).get(peerProof);
        // MessageDigest.isEqual takes constant time.
        if (!MessageDigest.isEqual(proof(token, DIAL, nonce, peerNonce), peerProof)) {
            throw new ProtocolException("a connection did not prove that it knows the token");
        }
        return Frames.frame(FrameType.PROOF, 0, proof(token, LISTEN, nonce, peerNonce));
    }

    public static byte[] dialProof(byte[] token, byte[] listenerNonce, byte[] dialerNonce) {
        return proof(token, DIAL, listenerNonce, dialerNonce);
    }

    public static byte[] listenProof(byte[] token, byte[] listenerNonce, byte[] dialerNonce) {
        return proof(token, LISTEN, listenerNonce, dialerNonce);
    }

    private static byte[] proof(byte[] token, byte[] role, byte[] listenerNonce, byte[] dialerNonce) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(token, "HmacSHA256"));
            mac.update(role);
            mac.update(listenerNonce);
            return mac.doFinal(dialerNonce);
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException("every Java has HmacSHA256", impossible);
        }
    }

    /** The peer speaks another version of the protocol. The answer is GOAWAY with code 3. */
    public static final class VersionException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        VersionException(String message) {
            super(message);
        }
    }
}
