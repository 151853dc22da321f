package io.pyrs.tck;

import org.reactivestreams.tck.TestEnvironment;

/** The kit's environment; what is wrong carries the frames of the Python code that this thread is busy for. */
final class Environment extends TestEnvironment {
    private final Scope scope;

    Environment(Scope scope, long timeoutMillis, long noSignalsMillis, long pollMillis, boolean debug) {
        // The constructor with all of them: the others read an environment variable under a wrong name.
        super(timeoutMillis, noSignalsMillis, pollMillis, debug);
        this.scope = scope;
    }

    @Override public void flop(String message) {
        super.flop(framed(new AssertionError(message)), message);
    }

    @Override public void flop(Throwable error, String message) {
        super.flop(framed(error), message);
    }

    @Override public void flop(Throwable error) {
        super.flop(framed(error));
    }

    @Override public <T> T flopAndFail(String message) {
        var error = framed(new AssertionError(message));
        super.flop(error, message);
        throw error;
    }

    private <E extends Throwable> E framed(E error) {
        if (scope.isBound()) {
            var frames = (String) scope.line().call("frames", 0);
            if (frames != null && !frames.isEmpty()) error.addSuppressed(new PythonFrames(frames));
        }
        return error;
    }

    /** Not thrown: the text of Python's frames, with the error that was found there. */
    static final class PythonFrames extends RuntimeException {
        private static final long serialVersionUID = 1;

        PythonFrames(String frames) {
            super(frames, null, false, false);
        }
    }
}
