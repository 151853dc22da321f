package io.pyrs.value;

import io.pyrs.Limits;
import io.pyrs.PythonCancellationException;
import io.pyrs.PythonError;
import io.pyrs.PythonException;
import io.pyrs.PythonIllegalArgumentException;
import io.pyrs.PythonIllegalStateException;
import io.pyrs.PythonNullPointerException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Converts Throwables to wire errors and back: {@code [owner, id, type, message, frames, cause, traceback, families]},
 * see docs/values.md.
 *
 * <p>Encoding never fails, even if a Throwable has a cyclic cause, a huge stack trace, or methods that throw.
 */
public final class ErrorCodec {
    static final int MAX_TEXT = Limits.of("error.text");
    static final int MAX_FRAMES = Limits.of("error.frames");
    static final int MAX_CAUSES = Limits.of("error.causes");

    /** The families of Java's exceptions. The first class that matches decides. */
    private static final List<Map.Entry<? extends Class<?>, String>> FAMILIES = List.of(
            Map.entry(NullPointerException.class, "null_signal"),
            Map.entry(IllegalArgumentException.class, "illegal_argument"),
            Map.entry(CancellationException.class, "cancelled"),
            Map.entry(IllegalStateException.class, "illegal_state"),
            Map.entry(TimeoutException.class, "timeout"),
            Map.entry(ConversionException.class, "conversion"),
            Map.entry(NoSuchElementException.class, "no_such_element"));

    /** Creates the error of a family from Python; a {@link PythonException} represents the others. */
    private static final Map<String, Function<PythonError.Details, Throwable>> ERRORS = Map.of(
            "null_signal", PythonNullPointerException::new,
            "illegal_argument", PythonIllegalArgumentException::new,
            "cancelled", PythonCancellationException::new,
            "illegal_state", PythonIllegalStateException::new);

    private final SentErrors originals;

    public ErrorCodec(SentErrors originals) {
        this.originals = originals;
    }

    /** Encodes an error as the body of an ERROR frame, after {@code headroom} zero bytes. */
    public byte[] encode(Throwable error, int headroom) {
        ValueBuffer out = new ValueBuffer();
        new ValueEncoder(References.NONE, Conversion.AUTO).encode(toWire(error), out);
        return out.take(headroom, -1);
    }

    /** Decodes the body of an ERROR frame. */
    public Throwable decode(byte[] body) {
        return fromWire(new ValueDecoder(References.NONE, ElementType.ANY).decode(body));
    }

    /** Converts an error to the list that RETURN contains. */
    public List<Object> toWire(Throwable error) {
        return toWire(error, Collections.newSetFromMap(new IdentityHashMap<>()), trace(error));
    }

    private List<Object> toWire(Throwable error, Set<Throwable> seen, String trace) {
        seen.add(error);
        Throwable cause = attempt(error::getCause);
        List<Object> wireCause =
                cause == null || seen.size() >= MAX_CAUSES || seen.contains(cause) ? null : toWire(cause, seen, null);
        long originalId =
                error instanceof PythonError ? ((PythonError) error).details().idAt(originals) : 0;
        List<Object> wire = new ArrayList<>(8);
        wire.add(originalId == 0 ? 0 : 1);
        wire.add(originalId == 0 ? originals.keep(error) : originalId);
        wire.add(error.getClass().getName());
        wire.add(message(error));
        wire.add(frames(error));
        wire.add(wireCause);
        wire.add(trace); // null for a cause, whose trace is part of the outermost trace
        wire.add(families(error));
        return wire;
    }

    /**
     * Calls a method of a Throwable. Returns null if the method throws, since a subclass may override it.
     *
     * <p>Overridable methods of a Throwable are called only here and in {@link #message}.
     */
    private static <T> T attempt(Supplier<T> method) {
        try {
            return method.get();
        } catch (Throwable broken) {
            return null;
        }
    }

    private static String message(Throwable error) {
        try {
            return clean(error.getMessage());
        } catch (Throwable broken) { // a user's getMessage
            return "(getMessage() threw " + broken.getClass().getName() + ")";
        }
    }

    /** Formats the class and the message of a Throwable, even if its methods throw. */
    static String describe(Throwable error) {
        String message = message(error);
        return message == null ? error.getClass().getName() : error.getClass().getName() + ": " + message;
    }

    private static List<Object> frames(Throwable error) {
        StackTraceElement[] stack = attempt(error::getStackTrace);
        List<Object> frames = new ArrayList<>();
        for (StackTraceElement each : stack == null ? new StackTraceElement[0] : stack) {
            if (frames.size() == MAX_FRAMES) {
                break;
            }
            if (each != null) {
                frames.add(Arrays.asList(
                        clean(each.getClassName()),
                        clean(each.getMethodName()),
                        clean(each.getFileName()),
                        each.getLineNumber()));
            }
        }
        return frames;
    }

    private static String trace(Throwable error) {
        return attempt(() -> {
            StringWriter text = new StringWriter();
            error.printStackTrace(new PrintWriter(text));
            return clean(text.toString());
        });
    }

    /** Escapes lone surrogates, and shortens text to {@link #MAX_TEXT} characters by cutting its middle. */
    private static String clean(String text) {
        if (text == null) {
            return null;
        }
        String cut = text;
        if (text.length() > MAX_TEXT) {
            int half = MAX_TEXT / 2 - 16;
            cut = text.substring(0, half) + "\n... cut ...\n" + text.substring(text.length() - half);
        }
        StringBuilder clean = new StringBuilder(cut.length());
        cut.codePoints().forEach(c -> {
            if (c >= 0xd800 && c <= 0xdfff) {
                clean.append(String.format("\\u%04x", c));
            } else {
                clean.appendCodePoint(c);
            }
        });
        return clean.toString();
    }

    private static List<String> families(Throwable error) {
        for (Map.Entry<? extends Class<?>, String> each : FAMILIES) {
            if (each.getKey().isInstance(error)) {
                return List.of(each.getValue());
            }
        }
        return List.of();
    }

    /**
     * Converts a wire error to a Throwable: the original if this side sent it, else a {@link PythonError}.
     *
     * @throws MalformedValueException if the value is not an error
     */
    public Throwable fromWire(Object value) {
        return fromWire(value, 0);
    }

    private Throwable fromWire(Object value, int depth) {
        try {
            List<?> wire = (List<?>) value;
            long owner = (Long) wire.get(0);
            long id = (Long) wire.get(1);
            if (owner == 1) {
                Throwable original = originals.find(id);
                if (original != null) {
                    return original;
                }
            }
            String type = (String) wire.get(2);
            PythonError.Details details = new PythonError.Details(
                    type, (String) wire.get(3), (String) wire.get(6), originals, owner == 0 ? id : 0);
            List<?> families = (List<?>) wire.get(7);
            Throwable error = ERRORS.getOrDefault(families.isEmpty() ? "" : families.get(0), PythonException::new)
                    .apply(details);
            error.setStackTrace(stack((List<?>) wire.get(4)));
            if (wire.get(5) != null && depth < MAX_CAUSES) {
                error.initCause(fromWire(wire.get(5), depth + 1));
            }
            return error;
        } catch (ClassCastException | IndexOutOfBoundsException | NullPointerException e) {
            throw new MalformedValueException("a value that is not an error", e);
        }
    }

    private static StackTraceElement[] stack(List<?> frames) {
        StackTraceElement[] stack = new StackTraceElement[Math.min(frames.size(), MAX_FRAMES)];
        for (int i = 0; i < stack.length; i++) {
            List<?> frame = (List<?>) frames.get(i);
            stack[i] = new StackTraceElement(
                    (String) frame.get(0),
                    (String) frame.get(1),
                    (String) frame.get(2),
                    ((Long) frame.get(3)).intValue());
        }
        return stack;
    }
}
