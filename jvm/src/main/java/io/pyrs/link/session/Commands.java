package io.pyrs.link.session;

import io.pyrs.Classes;
import io.pyrs.invoke.HotPublishers;
import io.pyrs.invoke.Invocation;
import io.pyrs.link.protocol.ProtocolException;
import io.pyrs.value.Conversion;
import io.pyrs.value.ElementType;
import io.pyrs.value.SentReferences;
import io.pyrs.value.SharedBatch;
import io.pyrs.value.ValueBuffer;
import io.pyrs.value.ValueDecoder;
import io.pyrs.value.ValueEncoder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Executes commands from Python by name: find a class, call a method or a constructor, read a field.
 *
 * <p>A command and its answer are encoded values, so that they do not depend on the gateway that transports them.
 *
 * <p>A command is {@code [operation, target, name, argument ...]}, an answer {@code [true, result]} or {@code [false,
 * error]}.
 */
public final class Commands {
    /** The operations; their ordinals are their codes. */
    private enum Operation {
        METHOD,
        STATIC_METHOD,
        CONSTRUCTOR,
        FIELD,
        CLASS,
        VALUE,
        THROWABLE;

        private static final Operation[] OPERATIONS = values();

        static Operation ofCode(long code) {
            if (code < 0 || code >= OPERATIONS.length) {
                throw new ProtocolException("malformed command: unknown operation " + code);
            }
            return OPERATIONS[(int) code];
        }
    }

    /** An encoded answer, with the mirrors in it: they stay reachable, so that no RELEASE overtakes the answer. */
    public static final class Answer {
        /** The bytes to send. */
        public final byte[] bytes;

        /** Never read; only keeps the references reachable. */
        final SentReferences references;

        private Answer(byte[] bytes, SentReferences references) {
            this.bytes = bytes;
            this.references = references;
        }
    }

    private final Handles handles;
    private final Codec codec;
    private final ClassLoader loader;

    Commands(Handles handles, Codec codec, ClassLoader loader) {
        this.handles = handles;
        this.codec = codec;
        this.loader = loader;
    }

    /** Executes a command. The answer contains the result or the error. */
    public Answer run(byte[] command) {
        try {
            List<Object> entries = read(command);
            Operation operation = Operation.ofCode((Long) entries.get(0));
            Object[] arguments = entries.subList(3, entries.size()).toArray();
            Object result = run(operation, entries.get(1), (String) entries.get(2), arguments);
            // A constructor returns a reference, even to a String.
            return answer(true, result, conversion(operation, arguments), operation == Operation.CONSTRUCTOR);
        } catch (Throwable error) {
            return answer(false, codec.wireError(error), Conversion.AUTO, false);
        }
    }

    private Object run(Operation operation, Object target, String name, Object[] arguments) throws Throwable {
        switch (operation) {
            case METHOD:
                return Invocation.invoke(target, name, arguments);
            case STATIC_METHOD:
                return Invocation.invokeStatic((Class<?>) target, name, arguments);
            case CONSTRUCTOR:
                return Invocation.construct((Class<?>) target, arguments);
            case FIELD:
                return Invocation.field((Class<?>) target, name);
            case CLASS:
                Class<?> type = Classes.find(name, loader);
                return Arrays.asList(
                        type,
                        type.getTypeName(),
                        List.copyOf(Invocation.staticNames(type.getMethods())),
                        List.copyOf(Invocation.staticNames(type.getFields())));
            case VALUE:
                return target;
            case THROWABLE:
                return codec.original((Long) arguments[0]);
            default:
                throw new IllegalStateException("unknown operation " + operation);
        }
    }

    private static Conversion conversion(Operation operation, Object[] arguments) {
        return operation == Operation.VALUE
                ? Conversion.of(arguments[0])
                : operation == Operation.CLASS ? Conversion.AUTO : Conversion.PLAIN;
    }

    private List<Object> read(byte[] command) {
        ValueDecoder decoder = new ValueDecoder(handles, ElementType.ANY);
        try {
            List<Object> entries = new ArrayList<>();
            for (int left = decoder.beginBatch(command); left > 0; left--) {
                entries.add(decoder.next());
            }
            return entries;
        } catch (RuntimeException error) {
            decoder.releaseRest(handle -> handles.recordRelease(handle, 1));
            throw error;
        }
    }

    private Answer answer(boolean done, Object result, Conversion conversion, boolean asReference) {
        ValueEncoder encoder = new ValueEncoder(handles, conversion) {
            @Override
            protected int kindCode(Object value) {
                return value instanceof SharedBatch ? super.kindCode(value) : HotPublishers.kindCode(value);
            }
        };
        ValueBuffer buffer = new ValueBuffer(256);
        encoder.encode(done, buffer);
        if (asReference) {
            encoder.encodeReference(result, buffer);
        } else {
            encoder.encodeResult(result, buffer);
        }
        return new Answer(buffer.takeBatch(2), encoder.takeReferences());
    }
}
