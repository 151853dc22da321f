package interop;

import java.util.function.Supplier;

/** Public members whose classes are not public. */
public final class Members extends Inherited {
    /** A private class with a public constructor. */
    private static final class Hidden implements Supplier<Object> {
        private final Object value;

        public Hidden(Object value) {
            this.value = value;
        }

        @Override
        public Object get() {
            return value;
        }

        public Object own() {
            return value;
        }
    }

    /** Elasticsearch's client has such names. */
    public String _kind() {
        return "a kind";
    }

    public long _handle() {
        return 7;
    }

    public static String _name() {
        return "a name";
    }
}

class Inherited {
    public static final int INHERITED = 7;
}
