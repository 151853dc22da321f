package io.pyrs.tck;

import org.reactivestreams.tck.TestEnvironment;

/** The kit's environment. It attaches the Python frames that called into the current thread to each recorded error. */
final class Environment extends TestEnvironment {
    private final Scope scope;

    Environment(Scope scope, long timeoutMillis, long noSignalsMillis, long pollMillis, boolean debug) {
        // The shorter constructors read an environment variable under a wrong name.
        super(timeoutMillis, noSignalsMillis, pollMillis, debug);
        this.scope = scope;
    }

    @Override
    public void flop(String message) {
        super.flop(withFrames(new AssertionError(message)), message);
    }

    @Override
    public void flop(Throwable error, String message) {
        super.flop(withFrames(error), message);
    }

    @Override
    public void flop(Throwable error) {
        super.flop(withFrames(error));
    }

    @Override
    public <T> T flopAndFail(String message) {
        var error = withFrames(new AssertionError(message));
        super.flop(error, message);
        throw error;
    }

    private <E extends Throwable> E withFrames(E error) {
        if (scope.isBound()) {
            var frames = (String) scope.connection().call("frames", 0);
            if (frames != null && !frames.isEmpty()) error.addSuppressed(new PythonFrames(frames));
        }
        return error;
    }

    /** The formatted Python frames, attached to an error as a suppressed exception. It is never thrown. */
    static final class PythonFrames extends RuntimeException {
        private static final long serialVersionUID = 1;

        PythonFrames(String frames) {
            super(frames, null, false, false);
        }
    }
}
