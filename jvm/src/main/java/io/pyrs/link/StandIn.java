package io.pyrs.link;

/** An object that represents an object of the peer. Sent to the peer, it arrives as that object. */
public interface StandIn {
    /** Returns the identity of the represented object. */
    Reference reference();
}
