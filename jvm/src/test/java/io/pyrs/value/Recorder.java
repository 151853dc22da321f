package io.pyrs.value;

import java.util.ArrayList;
import java.util.List;

/** References that count: own gives 7, 8, ...; what is OfPeer goes home as handle 9. */
final class Recorder implements References {
    /** Stands for an object of the peer. */
    static final class OfPeer {}

    /** What remote and local give. */
    static final class Standin {
        final String text;

        Standin(String text) {
            this.text = text;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Standin && ((Standin) other).text.equals(text);
        }

        @Override
        public int hashCode() {
            return text.hashCode();
        }

        @Override
        public String toString() {
            return text;
        }
    }

    final List<Object> owned = new ArrayList<>();
    final List<Long> disowned = new ArrayList<>();

    @Override
    public long own(Object value, int kind) {
        owned.add(value);
        return 6 + owned.size();
    }

    @Override
    public void disown(long handle) {
        disowned.add(handle);
    }

    @Override
    public int kindOf(Object value) {
        return 0;
    }

    @Override
    public long home(Object value) {
        return value instanceof OfPeer ? 9 : 0;
    }

    @Override
    public int homeKind(Object value) {
        return 0;
    }

    @Override
    public Object remote(int kind, long handle) {
        return new Standin("remote " + kind + " " + handle);
    }

    @Override
    public Object local(long handle) {
        return new Standin("local " + handle);
    }
}
