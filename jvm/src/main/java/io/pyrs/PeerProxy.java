package io.pyrs;

/** An object that represents an object of the peer. Sent to the peer, it arrives as that object. */
public interface PeerProxy {
    /** Returns the identity of the represented object. */
    PeerReference reference();
}
