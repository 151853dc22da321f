package io.pyrs.link;

/** Something that stands for an object of the peer's, and goes home as that object. */
public interface StandIn {
    /** Which object it stands for. */
    Reference reference();
}
