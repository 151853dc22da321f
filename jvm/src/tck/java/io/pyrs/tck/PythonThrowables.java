package io.pyrs.tck;

import org.testng.SkipException;

/** Python exceptions as the Throwables that the rules of the specification require. */
final class PythonThrowables {
    private PythonThrowables() {}

    /**
     * Creates the Throwable of a Python exception. Its message is "Type: message"; its stack is that of the receiving
     * thread.
     */
    static Throwable of(long id, char kind, String text) {
        switch (kind) {
            case 'N':
                return new Null(id, text);
            case 'I':
                return new IllegalArgument(id, text);
            case 'A':
                return new Assertion(id, text);
            case 'S':
                return new Skip(id, text);
            default:
                return new Other(id, text);
        }
    }

    static final class Null extends NullPointerException implements PythonProxy {
        private static final long serialVersionUID = 1;
        private final long id;

        Null(long id, String text) {
            super(text);
            this.id = id;
        }

        @Override
        public long id() {
            return id;
        }

        @Override
        public String toString() {
            return getMessage();
        }
    }

    static final class IllegalArgument extends IllegalArgumentException implements PythonProxy {
        private static final long serialVersionUID = 1;
        private final long id;

        IllegalArgument(long id, String text) {
            super(text);
            this.id = id;
        }

        @Override
        public long id() {
            return id;
        }

        @Override
        public String toString() {
            return getMessage();
        }
    }

    static final class Assertion extends AssertionError implements PythonProxy {
        private static final long serialVersionUID = 1;
        private final long id;

        Assertion(long id, String text) {
            super(text);
            this.id = id;
        }

        @Override
        public long id() {
            return id;
        }

        @Override
        public String toString() {
            return getMessage();
        }
    }

    static final class Skip extends SkipException implements PythonProxy {
        private static final long serialVersionUID = 1;
        private final long id;

        Skip(long id, String text) {
            super(text);
            this.id = id;
        }

        @Override
        public long id() {
            return id;
        }

        @Override
        public String toString() {
            return getMessage();
        }
    }

    static final class Other extends RuntimeException implements PythonProxy {
        private static final long serialVersionUID = 1;
        private final long id;

        Other(long id, String text) {
            super(text);
            this.id = id;
        }

        @Override
        public long id() {
            return id;
        }

        @Override
        public String toString() {
            return getMessage();
        }
    }
}
