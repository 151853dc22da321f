package io.pyrs.value;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertSame;
import static org.testng.Assert.assertTrue;
import static org.testng.Assert.expectThrows;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayDeque;
import java.util.Date;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.testng.annotations.DataProvider;
import org.testng.annotations.Test;

/** Tests the conversion of elements to element types, and mismatches. */
public class ElementTypeTest {
    private static final OffsetDateTime NOON = OffsetDateTime.of(2024, 1, 2, 12, 0, 0, 0, ZoneOffset.UTC);

    @DataProvider
    public Object[][] fitting() {
        return new Object[][] {
            {"java.lang.Long", 7L, 7L},
            {"java.lang.Integer", 7L, 7},
            {"int", -1L, -1},
            {"java.lang.Short", 7L, (short) 7},
            {"java.lang.Byte", -128L, (byte) -128},
            {"java.lang.Double", 7L, 7.0},
            {"java.lang.Double", 1.5, 1.5},
            {"java.lang.Float", 0.1, 0.1f},
            {"java.lang.Float", Double.POSITIVE_INFINITY, Float.POSITIVE_INFINITY},
            {"java.math.BigInteger", 7L, BigInteger.valueOf(7)},
            {"java.math.BigInteger", BigInteger.ONE.shiftLeft(200), BigInteger.ONE.shiftLeft(200)},
            {"java.math.BigDecimal", 7L, new BigDecimal(7)},
            {"java.math.BigDecimal", new BigDecimal("1.50"), new BigDecimal("1.50")},
            {"java.lang.String", "a", "a"},
            {"java.lang.Character", "a", 'a'},
            {"java.lang.Boolean", true, true},
            {"java.lang.Number", 7L, 7L},
            {"java.lang.Object", "a", "a"},
            {"byte[]", new byte[] {1}, new byte[] {1}},
            {"java.nio.ByteBuffer", new byte[] {1}, ByteBuffer.wrap(new byte[] {1})},
            {"java.util.List", ValueRows.list(1L), ValueRows.list(1L)},
            {"java.util.List<java.lang.Integer>", ValueRows.list(1L, null), ValueRows.list(1, null)},
            {
                "java.util.List<java.nio.ByteBuffer>",
                ValueRows.list(new byte[] {1}),
                List.of(ByteBuffer.wrap(new byte[] {1}))
            },
            {"java.util.Set<java.lang.Short>", ValueRows.set(1L), Set.of((short) 1)},
            {"java.util.Map", ValueRows.map("a", 1L), ValueRows.map("a", 1L)},
            {"long[]", ValueRows.list(1L, 2L), new long[] {1, 2}},
            {"java.lang.String[]", ValueRows.list("a", null), new String[] {"a", null}},
            {"int[][]", ValueRows.list(ValueRows.list(1L)), new int[][] {{1}}},
            {"java.util.concurrent.TimeUnit", "DAYS", java.util.concurrent.TimeUnit.DAYS},
            {"io.pyrs.value.ValueRows.Colour", "GREEN", ValueRows.Colour.GREEN},
            {"java.time.Instant", NOON, NOON.toInstant()},
            {"java.time.OffsetDateTime", NOON.atZoneSameInstant(ZoneId.of("UTC")), NOON},
            {"java.time.ZonedDateTime", NOON, NOON.toZonedDateTime()},
            {"java.util.Date", NOON, Date.from(NOON.toInstant())},
            {"java.util.UUID", new UUID(1, 2), new UUID(1, 2)},
            {"java.util.Optional", 7L, Optional.of(7L)},
        };
    }

    @Test(dataProvider = "fitting")
    public void fittingValueIsConverted(String type, Object value, Object expected) {
        Object actual = ElementType.of(type, null).from(value);
        assertEquals(actual, expected);
        assertTrue(expected instanceof List || expected instanceof Set || actual.getClass() == expected.getClass());
    }

    @DataProvider
    public Object[][] unfitting() {
        return new Object[][] {
            {"java.lang.Long", BigInteger.ONE.shiftLeft(63), "int"},
            {"java.lang.Integer", 1L << 31, "int"},
            {"java.lang.Integer", 1.0, "float"},
            {"java.lang.Integer", true, "bool"},
            {"java.lang.Integer", "1", "str"},
            {"java.lang.Short", 32768L, "int"},
            {"java.lang.Byte", 128L, "int"},
            {"java.lang.Double", (1L << 53) + 1, "int"},
            {"java.lang.Double", Long.MAX_VALUE, "int"},
            {"java.lang.Float", 1e300, "float"},
            {"java.math.BigInteger", 1.0, "float"},
            {"java.math.BigDecimal", 1.5, "float"},
            {"java.lang.String", 1L, "int"},
            {"java.lang.Character", "ab", "str"},
            {"java.lang.Boolean", 1L, "int"},
            {"byte[]", "text", "str"},
            {"java.nio.ByteBuffer", "text", "str"},
            {"java.util.List", ValueRows.map(), "dict"},
            {"java.util.Map", ValueRows.list(), "list"},
            {"java.util.List<java.lang.Integer>", ValueRows.list("a"), "str"},
            {"long[]", ValueRows.list((Object) null), "None"},
            {"java.util.concurrent.TimeUnit", "PARSECS", "str"},
            {"java.time.Instant", NOON.toLocalDateTime(), "datetime.datetime"},
            {"java.util.UUID", new RecordingReferences.Mirror("x"), "object"},
        };
    }

    @Test(dataProvider = "unfitting")
    public void mismatchNamesBothTypes(String type, Object value, String python) {
        String message = expectThrows(ConversionException.class, () -> ElementType.of(type, null)
                        .from(value))
                .getMessage();
        String inner = type.contains("<") ? type.substring(type.indexOf('<') + 1, type.length() - 1) : type;
        assertTrue(message.contains(inner) && message.contains(python), message);
    }

    @DataProvider
    public Object[][] returning() {
        return new Object[][] {
            {"java.lang.Long", 1_000L}, // beyond the cache of Long.valueOf
            {"java.lang.Integer", 7},
            {"int", 7},
            {"java.lang.Float", 0.5f},
            {"java.nio.ByteBuffer", ByteBuffer.allocate(1)},
            {"java.util.Date", new Date(0)},
            {"java.util.Optional", Optional.of(1)},
            {"long[]", new long[] {1}},
            {"java.util.List<java.lang.Integer>", List.of(1)},
            {"java.util.List<java.lang.Long>", List.of(1_000L)},
            {"java.util.Collection<java.lang.Integer>", new ArrayDeque<>(List.of(1, 1))},
            {"java.util.Set<java.lang.Short>", Set.of((short) 1)},
        };
    }

    /** A Java object that Python received by reference and returns already has the type. */
    @Test(dataProvider = "returning")
    public void objectOfTheTypeIsUnchanged(String type, Object value) {
        assertSame(ElementType.of(type, null).from(value), value);
    }

    @Test
    public void membersAreConvertedInACopy() {
        List<Object> list = ValueRows.list(1L, 2L);
        assertEquals(ElementType.of("java.util.List<java.lang.Integer>", null).from(list), List.of(1, 2));
        assertEquals(list, List.of(1L, 2L));
        Object fixed = ElementType.of("java.util.List<java.lang.Integer>", null).from(List.of(1L, 2L));
        assertEquals(fixed, List.of(1, 2));
    }

    @Test
    public void unknownTypeIsRejectedAtOnce() {
        assertTrue(expectThrows(IllegalArgumentException.class, () -> ElementType.of("no.such.Type", null))
                .getMessage()
                .contains("no.such.Type"));
        expectThrows(IllegalArgumentException.class, () -> ElementType.of("java.util.Map<int>", null));
    }

    @Test
    public void elementTypeAppliesOnlyToElements() {
        ValueBuffer out = new ValueBuffer();
        new ValueEncoder(new RecordingReferences(), Conversion.AUTO).encode(5, out);
        byte[] body = out.takeBatch(1);
        ValueDecoder decoder = new ValueDecoder(new RecordingReferences(), ElementType.of("java.lang.Integer", null));
        decoder.beginBatch(body);
        assertEquals(decoder.next(), 5);
        assertEquals(decoder.decode(body), ValueRows.list(5L));
    }
}
