package io.pyrs.tck;

import java.io.IOException;

/**
 * The entry point that Python loads and calls through its gateway. Everything else uses the sockets of a {@link Scope}.
 */
public final class Referee {
    /** Creates the entry point. Python loads the class by name, in a class loader that holds only the kit. */
    public Referee() {}

    /** Returns the version of pyrs that this jar was built for. */
    public String version() {
        return Referee.class.getPackage().getImplementationVersion();
    }

    /** Registers a Java object to be verified, and returns the number that a hook returns to select it. */
    public long give(Object object) {
        return JavaSubjects.register(object);
    }

    /**
     * Opens the scope of one test.
     *
     * @param token the secret that the connecting side, Java or Python, sends first on each connection
     * @param port the port on which Python listens, on the loopback interface
     * @return the port on which Java listens
     */
    public int open(byte[] token, int port) throws IOException {
        return new Scope(token.clone(), port).listen();
    }
}
