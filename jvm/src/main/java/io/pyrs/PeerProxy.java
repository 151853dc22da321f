package io.pyrs;

/** A proxy for an object of the peer. The peer receives the original object when the proxy is sent to it. */
public interface PeerProxy {
    /** Returns the identity of the represented object. */
    PeerReference reference();
}
