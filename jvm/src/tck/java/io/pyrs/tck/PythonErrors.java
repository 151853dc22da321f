package io.pyrs.tck;

import org.testng.SkipException;

/** Exceptions of Python's as Throwables of the kind that Java's rules ask for. */
final class PythonErrors {
    private PythonErrors() {}

    /** What stands for a Python exception: its text is "Type: message". The stack is where Java received it. */
    static Throwable of(long id, char kind, String text) {
        switch (kind) {
            case 'N': return new Null(id, text);
            case 'I': return new IllegalArgument(id, text);
            case 'A': return new Assertion(id, text);
            case 'S': return new Skip(id, text);
            default: return new Other(id, text);
        }
    }

    static final class Null extends NullPointerException implements FromPython {
        private static final long serialVersionUID = 1;
        private final long id;

        Null(long id, String text) {
            super(text);
            this.id = id;
        }

        @Override public long id() {
            return id;
        }

        @Override public String toString() {
            return getMessage();
        }
    }

    static final class IllegalArgument extends IllegalArgumentException implements FromPython {
        private static final long serialVersionUID = 1;
        private final long id;

        IllegalArgument(long id, String text) {
            super(text);
            this.id = id;
        }

        @Override public long id() {
            return id;
        }

        @Override public String toString() {
            return getMessage();
        }
    }

    static final class Assertion extends AssertionError implements FromPython {
        private static final long serialVersionUID = 1;
        private final long id;

        Assertion(long id, String text) {
            super(text);
            this.id = id;
        }

        @Override public long id() {
            return id;
        }

        @Override public String toString() {
            return getMessage();
        }
    }

    static final class Skip extends SkipException implements FromPython {
        private static final long serialVersionUID = 1;
        private final long id;

        Skip(long id, String text) {
            super(text);
            this.id = id;
        }

        @Override public long id() {
            return id;
        }

        @Override public String toString() {
            return getMessage();
        }
    }

    static final class Other extends RuntimeException implements FromPython {
        private static final long serialVersionUID = 1;
        private final long id;

        Other(long id, String text) {
            super(text);
            this.id = id;
        }

        @Override public long id() {
            return id;
        }

        @Override public String toString() {
            return getMessage();
        }
    }
}
