package io.pyrs.value;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertNotNull;
import static org.testng.Assert.assertNull;
import static org.testng.Assert.assertSame;
import static org.testng.Assert.assertTrue;
import static org.testng.Assert.expectThrows;

import io.pyrs.PythonCancellationException;
import io.pyrs.PythonError;
import io.pyrs.PythonException;
import io.pyrs.PythonIllegalArgumentException;
import io.pyrs.PythonIllegalStateException;
import io.pyrs.PythonNullPointerException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeoutException;
import org.testng.annotations.DataProvider;
import org.testng.annotations.Test;

/** Tests Throwables and Python exceptions as wire errors. */
public class ErrorCodecTest {
    private final SentErrors originals = new SentErrors();
    private final ErrorCodec errors = new ErrorCodec(originals);

    private static List<Object> wire(Object owner, Object id, String type, Object cause, String... families) {
        List<Object> frame = Arrays.asList("my.module", "f", "module.py", 3L);
        return Arrays.asList(owner, id, type, "boom", List.of(frame), cause, "Traceback ...", Arrays.asList(families));
    }

    @DataProvider
    public Object[][] families() {
        return new Object[][] {
            {"illegal_argument", PythonIllegalArgumentException.class, IllegalArgumentException.class},
            {"null_signal", PythonNullPointerException.class, NullPointerException.class},
            {"illegal_state", PythonIllegalStateException.class, IllegalStateException.class},
            {"cancelled", PythonCancellationException.class, CancellationException.class},
            {"an unknown family", PythonException.class, RuntimeException.class},
        };
    }

    @Test(dataProvider = "families")
    public void pythonErrorHasTheClassOfItsFamily(String family, Class<?> type, Class<?> parent) {
        Throwable error = errors.fromWire(wire(0L, 5L, "my.module.Error", wire(0L, 6L, "KeyError", null), family));
        assertSame(error.getClass(), type);
        assertTrue(parent.isInstance(error));
        assertEquals(error.getMessage(), "my.module.Error: boom");
        assertEquals(
                error.getStackTrace(),
                new StackTraceElement[] {new StackTraceElement("my.module", "f", "module.py", 3)});
        assertEquals(((PythonError) error.getCause()).pythonType(), "KeyError");
        assertEquals(((PythonError) error).pythonMessage(), "boom");
        assertEquals(((PythonError) error).pythonTraceback(), "Traceback ...");
    }

    @Test
    public void pythonErrorReturnsToPythonByNumber() {
        Throwable error = errors.fromWire(wire(0L, 5L, "ValueError", null));
        int kept = originals.size();
        assertEquals(errors.toWire(error).subList(0, 2), List.of(1, 5L));
        assertEquals(originals.size(), kept);
        assertEquals(errors.toWire(new RuntimeException(error)).get(5) instanceof List, true);
        assertEquals(((List<?>) errors.toWire(new RuntimeException(error)).get(5)).subList(0, 2), List.of(1, 5L));
        // The peer of another bridge does not have the original.
        assertEquals(new ErrorCodec(new SentErrors()).toWire(error).get(0), 0);
    }

    @Test
    public void returnedThrowableIsTheSameObject() {
        Throwable original = new IllegalStateException("mine");
        byte[] body = errors.encode(original, 0);
        List<Object> wire =
                ValueRows.list(((List<?>) new ValueDecoder(new RecordingReferences(), null).decode(body)).toArray());
        assertEquals(wire.get(0), 0L);
        wire.set(0, 1L);
        assertSame(errors.fromWire(wire), original);
        wire.set(1, 999L); // no longer kept, so a new error is created from the data
        assertEquals(((PythonError) errors.fromWire(wire)).pythonType(), "java.lang.IllegalStateException");
    }

    @Test
    public void sameThrowableKeepsNumberAndEldestIsDropped() {
        SentErrors kept = new SentErrors();
        Throwable first = new Error();
        Throwable second = new Error();
        long number = kept.keep(first);
        long other = kept.keep(second);
        assertEquals(kept.keep(first), number);
        for (int i = 0; i < SentErrors.CAPACITY - 1; i++) {
            kept.keep(new Error());
        }
        assertSame(kept.find(number), first);
        assertNull(kept.find(other));
        assertEquals(kept.size(), SentErrors.CAPACITY);
        kept.clear();
        assertNull(kept.find(number));
    }

    @Test
    public void throwableIsEncodedWithStackAndCauses() {
        Throwable error = new RuntimeException("outer", new TimeoutException("inner"));
        List<Object> wire = errors.toWire(error);
        assertEquals(wire.get(2), "java.lang.RuntimeException");
        assertEquals(wire.get(3), "outer");
        List<?> frame = (List<?>) ((List<?>) wire.get(4)).get(0);
        assertEquals(
                frame.subList(0, 3),
                List.of("io.pyrs.value.ErrorCodecTest", "throwableIsEncodedWithStackAndCauses", "ErrorCodecTest.java"));
        assertTrue(((String) wire.get(6)).contains("Caused by: java.util.concurrent.TimeoutException: inner"));
        assertEquals(wire.get(7), List.of());
        List<?> cause = (List<?>) wire.get(5);
        assertEquals(cause.get(2), "java.util.concurrent.TimeoutException");
        assertEquals(cause.get(7), List.of("timeout"));
    }

    @Test
    public void standardThrowablesHaveTheirFamily() {
        assertEquals(errors.toWire(new NullPointerException()).get(7), List.of("null_signal"));
        assertEquals(errors.toWire(new NumberFormatException()).get(7), List.of("illegal_argument"));
        assertEquals(errors.toWire(new CancellationException()).get(7), List.of("cancelled"));
        assertEquals(errors.toWire(new IllegalStateException()).get(7), List.of("illegal_state"));
        assertEquals(errors.toWire(new ConversionException("x")).get(7), List.of("conversion"));
    }

    @Test
    public void hostileThrowableIsEncodedWithinLimits() {
        Throwable silent = new RuntimeException() {
            private static final long serialVersionUID = 1L;

            @Override
            public String getMessage() {
                throw new IllegalStateException();
            }
        };
        assertTrue(((String) errors.toWire(silent).get(3)).contains("IllegalStateException"));

        Throwable one = new RuntimeException("\ud800" + "x".repeat(100_000));
        Throwable other = new RuntimeException(one);
        one.initCause(other);
        StackTraceElement[] stack = new StackTraceElement[5000];
        Arrays.fill(stack, new StackTraceElement("a.B", "c", null, -2));
        one.setStackTrace(stack);
        byte[] body = errors.encode(one, 0);
        assertTrue(body.length < 5 * ErrorCodec.MAX_TEXT, "bytes: " + body.length);
        List<?> wire = (List<?>) new ValueDecoder(new RecordingReferences(), null).decode(body);
        assertTrue(((String) wire.get(3)).startsWith("\\ud800"));
        assertEquals(((List<?>) wire.get(4)).size(), ErrorCodec.MAX_FRAMES);
        assertNotNull(wire.get(5));
        assertNull(((List<?>) wire.get(5)).get(5));

        Throwable chain = new RuntimeException("0");
        for (int i = 0; i < 100; i++) {
            chain = new RuntimeException(String.valueOf(i), chain);
        }
        int causes = 0;
        for (Object each = errors.toWire(chain); each != null; each = ((List<?>) each).get(5)) {
            causes++;
        }
        assertEquals(causes, ErrorCodec.MAX_CAUSES);
    }

    @DataProvider
    public Object[][] hostileThrowables() {
        return new Object[][] {
            {
                "getStackTrace returns null",
                new Hostile() {
                    private static final long serialVersionUID = 1L;

                    @Override
                    public StackTraceElement[] getStackTrace() {
                        return null;
                    }
                }
            },
            {
                "getStackTrace throws",
                new Hostile() {
                    private static final long serialVersionUID = 1L;

                    @Override
                    public StackTraceElement[] getStackTrace() {
                        throw new StackOverflowError();
                    }
                }
            },
            {
                "a stack element is null",
                new Hostile() {
                    private static final long serialVersionUID = 1L;

                    @Override
                    public StackTraceElement[] getStackTrace() {
                        return new StackTraceElement[] {null, new StackTraceElement("a.B", "\ud800", null, 1)};
                    }
                }
            },
            {
                "getCause throws",
                new Hostile() {
                    private static final long serialVersionUID = 1L;

                    @Override
                    public synchronized Throwable getCause() {
                        throw new IllegalStateException();
                    }
                }
            },
            {
                "its cause is hostile",
                new RuntimeException("message", new Hostile() {
                    private static final long serialVersionUID = 1L;

                    @Override
                    public synchronized Throwable getCause() {
                        throw new AssertionError();
                    }
                })
            },
            {
                "printStackTrace throws",
                new Hostile() {
                    private static final long serialVersionUID = 1L;

                    @Override
                    public void printStackTrace(java.io.PrintWriter out) {
                        throw new AssertionError();
                    }
                }
            },
        };
    }

    /** A Throwable whose subclasses break one method each. */
    public static class Hostile extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Hostile() {
            super("message");
        }
    }

    @Test(dataProvider = "hostileThrowables")
    public void throwableWithFailingMethodsIsEncoded(String name, Throwable error) {
        Throwable decoded = errors.decode(errors.encode(error, 0));
        assertTrue(decoded.getMessage().endsWith("message"), decoded.getMessage());
    }

    @Test
    public void nonErrorIsMalformed() {
        for (Object value : Arrays.asList(null, 1L, List.of(), wire("0", 1L, "E", null), wire(0L, 1L, null, null))) {
            expectThrows(MalformedValueException.class, () -> errors.fromWire(value));
        }
    }
}
