package io.pyrs.link;

import io.pyrs.value.Conversion;
import io.pyrs.value.ElementType;
import io.pyrs.value.Errors;
import io.pyrs.value.MalformedValueException;
import io.pyrs.value.Originals;
import io.pyrs.value.ValueBuffer;
import io.pyrs.value.ValueDecoder;
import io.pyrs.value.ValueEncoder;
import java.util.Arrays;
import java.util.List;

/** The bodies of frames that hold values or errors. Safe for any thread: the encoders and decoders are made for each use. */
final class Codec {
    private final Handles handles;
    private final Originals originals = new Originals();
    private final Errors errors = new Errors(originals);

    Codec(Handles handles) {
        this.handles = handles;
    }

    /** A value that holds no references, as a whole frame. */
    byte[] frame(int type, long id, Object value) {
        ValueBuffer buffer = new ValueBuffer(64);
        new ValueEncoder(handles, Conversion.AUTO).encode(value, buffer);
        return Frames.frame(type, id, buffer.take());
    }

    /** A value that may be large and may hold references, ready for its turn. */
    Pieces pieces(int type, long id, Object value) {
        Carried carried = new Carried(handles);
        ValueBuffer buffer = new ValueBuffer(256);
        new ValueEncoder(carried, Conversion.AUTO).encode(value, buffer);
        return new Pieces(type, id, buffer.take(Frames.HEADER, -1), carried.take());
    }

    /** A CALL. The conversion is for each argument, and not for the lists that the frame itself is made of. */
    Pieces call(long id, long handle, List<Object> arguments, Conversion conversion) {
        Carried carried = new Carried(handles);
        ValueBuffer buffer = new ValueBuffer(256);
        ValueEncoder encoder = new ValueEncoder(carried, conversion);
        try {
            encoder.encode(handle, buffer);
            buffer.addArrayHeader(arguments.size());
            for (Object argument : arguments) {
                encoder.encodeResult(argument, buffer);
            }
        } catch (Throwable unsent) {
            carried.take().discard(handles);
            throw unsent;
        }
        return new Pieces(FrameType.CALL, id, buffer.take(Frames.HEADER, 2), carried.take());
    }

    /** An error's body, behind {@link Frames#HEADER} bytes of room. */
    byte[] encodeError(Throwable error) {
        byte[] body = errors.encode(error);
        byte[] bytes = new byte[Frames.HEADER + body.length];
        System.arraycopy(body, 0, bytes, Frames.HEADER, body.length);
        return bytes;
    }

    /** The RETURN of a call that threw. */
    Pieces failure(long id, Throwable error) {
        return pieces(FrameType.RETURN, id, Arrays.asList(false, errors.toWire(error)));
    }

    /** An error as a value. */
    Object wireError(Throwable error) {
        return errors.toWire(error);
    }

    /** One of our errors that Python has, null if it was forgotten. */
    Throwable original(long number) {
        return originals.find(number);
    }

    Throwable decodeError(byte[] body) {
        return errors.decode(body, 0, body.length);
    }

    Object decode(byte[] body) {
        return new ValueDecoder(handles, ElementType.ANY).decode(body, 0, body.length);
    }

    /**
     * A body that must be an array of so many values at least.
     *
     * @throws ProtocolException if it is not
     */
    List<?> decodeArray(Frame message, int size) {
        Object value;
        try {
            value = decode(message.body);
        } catch (MalformedValueException error) {
            throw new ProtocolException("malformed " + FrameType.name(message.type) + ": " + error.getMessage(), error);
        }
        if (!(value instanceof List) || ((List<?>) value).size() < size) {
            throw new ProtocolException(
                    "malformed " + FrameType.name(message.type) + ": its body is no array of " + size);
        }
        return (List<?>) value;
    }

    /** The value in a RETURN, or the error that it holds instead. */
    Object decodeAnswer(List<?> pair) throws Throwable {
        if (Boolean.TRUE.equals(pair.get(0))) {
            return pair.get(1);
        }
        throw errors.fromWire(pair.get(1));
    }

    /** Gives back the handles in a NEXT or RETURN that nobody will see. */
    void discard(byte[] body) {
        try {
            ValueDecoder decoder = new ValueDecoder(handles, ElementType.ANY);
            decoder.beginBatch(body, 0, body.length);
            decoder.releaseRest(handle -> handles.giveBack(handle, 1));
        } catch (RuntimeException malformed) {
            Log.debug("a dropped batch could not be read", malformed);
        }
    }

    void close() {
        originals.clear();
    }
}
