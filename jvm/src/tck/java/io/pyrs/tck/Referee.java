package io.pyrs.tck;

import java.io.IOException;

/** What Python loads and calls through its gateway. Everything else goes over the sockets of a {@link Scope}. */
public final class Referee {
    /** Loaded by name, in a class loader that holds the kit and nothing of the user's. */
    public Referee() {}

    /** The version of pyrs that this jar belongs to. */
    public String version() {
        return Referee.class.getPackage().getImplementationVersion();
    }

    /** Takes an object of Java's that is to be judged itself, and says what a hook has to return for it. */
    public long give(Object object) {
        return Given.number(object);
    }

    /**
     * Makes the ground for one test.
     *
     * @param token what both sides must show when they dial
     * @param port where Python listens, on the loopback interface
     * @return where Java listens
     */
    public int open(byte[] token, int port) throws IOException {
        return new Scope(token.clone(), port).listen();
    }
}
