package io.pyrs.value;

import io.pyrs.ObjectKind;
import io.pyrs.PeerReference;
import java.util.ArrayList;
import java.util.List;

/** Test double: own returns 7, 8, ...; an OfPeer has the peer handle 9. */
final class RecordingReferences implements References {
    /** Represents an object of the peer. */
    static final class OfPeer {}

    /** The result of remote and local. */
    static final class Mirror {
        final String text;

        Mirror(String text) {
            this.text = text;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Mirror && ((Mirror) other).text.equals(text);
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
    public long own(Object value) {
        owned.add(value);
        return 6 + owned.size();
    }

    @Override
    public void disown(long handle) {
        disowned.add(handle);
    }

    @Override
    public int kindCode(Object value) {
        return 0;
    }

    @Override
    public PeerReference peerReference(Object value) {
        return value instanceof OfPeer ? new PeerReference(this, ObjectKind.OBJECT, 9) : null;
    }

    @Override
    public Object remote(int kindCode, long handle) {
        return new Mirror("remote " + kindCode + " " + handle);
    }

    @Override
    public Object local(long handle) {
        return new Mirror("local " + handle);
    }
}
