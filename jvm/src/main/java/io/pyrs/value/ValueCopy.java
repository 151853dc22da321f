package io.pyrs.value;

import io.pyrs.ObjectKind;
import io.pyrs.PeerProxy;
import io.pyrs.PeerReference;
import java.util.ArrayList;
import java.util.List;

/** Copies a value as a transfer to Python and back would, so that the copy is independent of its source. */
public final class ValueCopy {
    private ValueCopy() {}

    /**
     * Converts an object to lists, maps, bytes, strings and numbers. An object that the conversion sends by reference
     * stays the same object.
     *
     * @throws ConversionException if it cannot be converted to a value
     */
    public static Object of(Object value, Conversion conversion) {
        LocalReferences references = new LocalReferences();
        ValueBuffer buffer = new ValueBuffer(256);
        new ValueEncoder(references, conversion).encode(value, buffer);
        return new ValueDecoder(references, ElementType.ANY).decode(buffer.take());
    }

    /** References that stay local: each handle is the position of an object in a list. */
    static final class LocalReferences implements References {
        private final List<Object> objects = new ArrayList<>();

        @Override
        public long own(Object value) {
            objects.add(value);
            return objects.size();
        }

        @Override
        public Object remote(int kindCode, long handle) {
            return objects.get((int) handle - 1);
        }

        /** Lets a Python object stay a reference if everything else must become a value. */
        @Override
        public PeerReference peerReference(Object value) {
            return PeerProxy.referenceOf(value) == null ? null : new PeerReference(this, ObjectKind.OBJECT, own(value));
        }
    }
}
