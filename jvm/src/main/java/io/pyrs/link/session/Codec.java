package io.pyrs.link.session;

import io.pyrs.Log;
import io.pyrs.link.protocol.Frame;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import io.pyrs.link.protocol.ProtocolException;
import io.pyrs.value.Conversion;
import io.pyrs.value.ConversionException;
import io.pyrs.value.ElementType;
import io.pyrs.value.ErrorCodec;
import io.pyrs.value.LocalPlaceholder;
import io.pyrs.value.MalformedValueException;
import io.pyrs.value.SentErrors;
import io.pyrs.value.ValueBuffer;
import io.pyrs.value.ValueDecoder;
import io.pyrs.value.ValueEncoder;
import java.util.ArrayList;
import java.util.List;

/** Encodes and decodes the bodies of frames that contain values or errors. Thread-safe. */
public final class Codec {
    private final Handles handles;
    private final SentErrors originals = new SentErrors();
    private final ErrorCodec errors = new ErrorCodec(originals);

    public Codec(Handles handles) {
        this.handles = handles;
    }

    /** Encodes a frame whose body is a small value without references. */
    public byte[] frame(FrameType type, long id, Object value) {
        ValueBuffer buffer = new ValueBuffer(64);
        new ValueEncoder(handles, Conversion.AUTO).encode(value, buffer);
        return Frames.frame(type, id, buffer.take());
    }

    /** Encodes the RETURN of a call: its result, or its {@link #wireError}. */
    OutgoingMessage answer(long id, boolean succeeded, Object result) {
        ValueBuffer buffer = new ValueBuffer(256);
        ValueEncoder encoder = new ValueEncoder(handles, Conversion.AUTO);
        encoder.encode(succeeded, buffer);
        encoder.encodeResult(result, buffer);
        return new OutgoingMessage(FrameType.RETURN, id, buffer.take(Frames.HEADER, 2), encoder.takeReferences());
    }

    /** Encodes a CALL. The conversion applies to each argument, not to the list of arguments. */
    OutgoingMessage call(long id, long handle, List<Object> arguments, Conversion conversion) {
        ValueBuffer buffer = new ValueBuffer(256);
        ValueEncoder encoder = new ValueEncoder(handles, conversion);
        try {
            encoder.encode(handle, buffer);
            buffer.addArrayHeader(arguments.size());
            for (Object argument : arguments) {
                encoder.encodeResult(argument, buffer);
            }
        } catch (Throwable unsent) {
            encoder.takeReferences().discard(handles);
            throw unsent;
        }
        return new OutgoingMessage(FrameType.CALL, id, buffer.take(Frames.HEADER, 2), encoder.takeReferences());
    }

    /** Encodes the body of an ERROR after {@link Frames#HEADER} unused bytes for the header. */
    byte[] encodeError(Throwable error) {
        return errors.encode(error, Frames.HEADER);
    }

    /** Converts an error to a value that can be encoded. */
    Object wireError(Throwable error) {
        return errors.toWire(error);
    }

    /** Returns the error that was sent to Python with this number, or null if it is no longer kept. */
    Throwable original(long number) {
        return originals.find(number);
    }

    /**
     * Decodes an ERROR. If the error cannot be converted to Java, returns the exception of the decoder.
     *
     * @throws ProtocolException if the bytes are not an error
     */
    Throwable decodeError(Frame message) {
        try {
            return errors.decode(message.body);
        } catch (MalformedValueException malformed) {
            throw new ProtocolException("malformed ERROR: " + malformed.getMessage(), malformed);
        } catch (RuntimeException unconvertible) {
            return unconvertible;
        }
    }

    public Object decode(byte[] body) {
        return new ValueDecoder(handles, ElementType.ANY).decode(body);
    }

    /**
     * The entries in the body of a control frame.
     *
     * <p>An entry that cannot be converted to Java is an error of the user, not of the peer, so it fails one call or
     * stream. {@link #failure} returns its exception; that entry and the entries after it are missing.
     */
    public static final class Entries {
        private final List<Object> values = new ArrayList<>();
        private RuntimeException failure;
        private boolean deferred;

        /** Returns the entry at an index, null if it cannot be converted to Java. */
        public Object get(int index) {
            return index < values.size() ? values.get(index) : null;
        }

        /**
         * Returns an entry of a CALL or RETURN with the local objects in it. The reader thread does not call this
         * method, since the {@code hashCode} of a local object may run and block.
         *
         * @throws ConversionException if a method of a local object throws
         */
        Object restored(int index) {
            return deferred ? LocalPlaceholder.restored(get(index)) : get(index);
        }

        /** Returns the exception of the first entry that cannot be converted to Java; null if there is none. */
        public RuntimeException failure() {
            return failure;
        }
    }

    /**
     * Decodes the body of a control frame, which must be an array that begins with entries of these types. Local objects
     * in it are placeholders; see {@link Entries#restored}.
     *
     * @throws ProtocolException if the body is malformed
     */
    public Entries decodeEntries(Frame message, Class<?>... form) {
        Entries entries = new Entries();
        ValueDecoder decoder = new ValueDecoder(handles, ElementType.ANY);
        try {
            int count = decoder.beginFrame(message.body, message.type == FrameType.CALL ? 1 : 0);
            try {
                while (entries.values.size() < count) {
                    entries.values.add(decoder.next());
                }
            } catch (ConversionException unconvertible) {
                entries.failure = unconvertible;
                decoder.releaseRest(handle -> handles.recordRelease(handle, 1));
            }
            entries.deferred = decoder.deferred();
            int size =
                    entries.failure == null ? form.length : Math.max(1, Math.min(entries.values.size(), form.length));
            for (int i = 0; i < size; i++) {
                boolean present = i < entries.values.size();
                if (!present || form[i] != Object.class && !form[i].isInstance(entries.values.get(i))) {
                    throw new MalformedValueException("its body does not have the form of this type");
                }
            }
        } catch (MalformedValueException error) {
            throw new ProtocolException("malformed " + message.type + ": " + error.getMessage(), error);
        }
        return entries;
    }

    /**
     * Decodes a RETURN: a value, or a Throwable.
     *
     * @throws ProtocolException if the body is malformed
     */
    Entries decodeAnswer(Frame message) {
        Entries pair = decodeEntries(message, Boolean.class, Object.class);
        if (pair.failure == null && !(Boolean) pair.get(0)) {
            try {
                pair.values.set(1, errors.fromWire(pair.get(1)));
            } catch (MalformedValueException malformed) {
                throw new ProtocolException("malformed RETURN: " + malformed.getMessage(), malformed);
            }
        }
        return pair;
    }

    /** Returns the value in a RETURN, or throws the error in it. */
    static Object result(Entries pair) throws Throwable {
        if (pair.failure != null) {
            throw pair.failure;
        }
        if ((Boolean) pair.get(0)) {
            return pair.restored(1);
        }
        throw (Throwable) pair.get(1);
    }

    /** Releases the handles in a dropped NEXT. */
    void discard(byte[] body) {
        try {
            ValueDecoder decoder = new ValueDecoder(handles, ElementType.ANY);
            decoder.beginBatch(body);
            decoder.releaseRest(handle -> handles.recordRelease(handle, 1));
        } catch (RuntimeException malformed) {
            Log.debug("a dropped batch could not be decoded", malformed);
        }
    }

    void close() {
        originals.clear();
    }
}
