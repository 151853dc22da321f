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
}

class Inherited {
    public static final int INHERITED = 7;
}
