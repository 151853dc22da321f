package io.pyrs.value;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.Vector;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/** The Java values of the test vectors. The value "name/label" is encoded to the same bytes as the value "name". */
final class ValueRows {
    enum Colour {
        RED,
        GREEN {
            @Override
            public String toString() {
                return "leaf";
            }
        },
        HIGH
    }

    /** An enum with a constant that has a body, and therefore a subclass. */
    enum Bodied {
        RED {
            @Override
            public String toString() {
                return "blood";
            }
        }
    }

    private static final LocalDateTime LEAP = LocalDateTime.of(2024, 2, 29, 13, 14, 15, 161718000);
    private static final Map<String, Object> VALUES = new LinkedHashMap<>();

    private ValueRows() {}

    static Map<String, Object> values() {
        if (VALUES.isEmpty()) {
            numbers();
            text();
            containers();
            moments();
            references();
        }
        return VALUES;
    }

    private static void row(String name, Object value) {
        VALUES.put(name, value);
    }

    private static BigInteger power(int bits) {
        return BigInteger.ONE.shiftLeft(bits);
    }

    private static void numbers() {
        row("null", null);
        row("true", true);
        row("false", false);
        row("zero", 0L);
        row("int 7", 7L);
        row("int 7/Integer", 7);
        row("int 7/Short", (short) 7);
        row("int 7/Byte", (byte) 7);
        row("int 7/BigInteger", BigInteger.valueOf(7));
        row("int -33", -33L);
        row("int -33/Integer", -33);
        row("int 200", 200L);
        row("int 200/Integer", 200);
        row("int 200/Short", (short) 200);
        row("int 2^31", 1L << 31);
        row("int 2^63-1", Long.MAX_VALUE);
        row("int -2^63", Long.MIN_VALUE);
        row("int -2^63/BigInteger", power(63).negate());
        row("int 2^63", power(63));
        row("int 2^64-1", power(64).subtract(BigInteger.ONE));
        row("int 2^64", power(64));
        row("int -2^63-1", power(63).negate().subtract(BigInteger.ONE));
        row("int 2^200", power(200));
        row("int -2^200", power(200).negate());
        row("int -2^71", power(71).negate());
        row("float 1.5", 1.5);
        row("float 1.5/Float", 1.5f);
        row("float NaN", Double.NaN);
        row("float NaN/Float", Float.NaN);
        row("float inf", Double.POSITIVE_INFINITY);
        row("float -inf", Double.NEGATIVE_INFINITY);
        row("float -0.0", -0.0);
        row("Decimal", new BigDecimal("12.50"));
        row("Decimal exponent", new BigDecimal("1E+30"));
        row("Decimal small", new BigDecimal("-1E-30"));
    }

    private static void text() {
        row("str empty", "");
        row("str a", "a");
        row("str a/Character", 'a');
        row("str of 40", "x".repeat(40));
        row("str astral", "\uD83D\uDE00\u00e9\ufffd");
        row("bytes", new byte[] {0, -1});
        row("bytes/ByteBuffer", ByteBuffer.wrap(new byte[] {0, -1}));
        row(
                "bytes/direct ByteBuffer",
                ByteBuffer.allocateDirect(2).put(1, (byte) -1).asReadOnlyBuffer());
        row(
                "bytes/part of a ByteBuffer",
                ByteBuffer.wrap(new byte[] {9, 9, 0, -1, 9}, 1, 3).slice().position(1));
        row("bytes empty", new byte[0]);
        byte[] many = new byte[300];
        Arrays.fill(many, (byte) 7);
        row("bytes of 300", many);
        row("enum name", "RED");
        row("enum name/enum", Colour.RED);
        row("enum name/enum with a body", Bodied.RED);
        row("IntEnum name", "HIGH");
        row("str enum name", "YES");
    }

    private static void containers() {
        row("list", list(1L, "a", null, list(2.5)));
        row("list/immutable", Collections.unmodifiableList(list(1, 'a', null, List.of(2.5f))));
        row("list/array", new Object[] {1L, "a", null, new double[] {2.5}});
        row(
                "list/ArrayDeque with Optional",
                new ArrayDeque<>(List.of(1L, "a", Optional.empty(), Optional.of(list(2.5)))));
        row("list empty", list());
        row("list empty/empty array", new String[0]);
        row("list of two ints", list(1L, 2L));
        row("list of two ints/long[]", new long[] {1, 2});
        row("list of two ints/int[]", new int[] {1, 2});
        row("list of two ints/short[]", new short[] {1, 2});
        row("list of two ints/Vector", new Vector<>(List.of(1, 2)));
        row("list of floats", list(0.5));
        row("list of floats/double[]", new double[] {0.5});
        row("list of floats/float[]", new float[] {0.5f});
        row("list of bools", list(true));
        row("list of bools/boolean[]", new boolean[] {true});
        row("list of chars", list("a", "b"));
        row("list of chars/char[]", new char[] {'a', 'b'});
        row("list of chars/String[]", new String[] {"a", "b"});
        row("list of bytes", list(new byte[] {'a'}, new byte[] {'b'}));
        row(
                "list of bytes/List of ByteBuffer",
                List.of(ByteBuffer.wrap(new byte[] {'a'}), ByteBuffer.wrap(new byte[] {'b'})));
        row("list of 20", LongStream.range(0, 20).boxed().collect(Collectors.toCollection(ArrayList::new)));
        row("list of 20/int[]", java.util.stream.IntStream.range(0, 20).toArray());
        row("dict", map("a", 1L, "b", null));
        row("dict/TreeMap", new TreeMap<>(map("b", null, "a", 1)));
        row("dict/Optional", map("a", Optional.of(1), "b", Optional.empty()));
        row("dict empty", map());
        row(
                "dict with scalar keys",
                map(1L, "i", 2.5, "f", null, "n", new byte[] {'k'}, "y", new BigDecimal("7.5"), "d"));
        Map<Object, Object> twenty = new LinkedHashMap<>();
        LongStream.range(0, 20).forEach(each -> twenty.put(each, each));
        row("dict of 20", twenty);
        row("set", set(1L));
        row("set/TreeSet", new TreeSet<>(Set.of(1)));
        row("set empty", set());
        row("set of tuple", set(list(1L, "a")));
        row("set of set", set(set(2L)));
    }

    private static void moments() {
        row("date", LEAP.toLocalDate());
        row("date/java.sql.Date", java.sql.Date.valueOf(LEAP.toLocalDate()));
        row("date before 1970", LocalDate.of(1, 1, 1));
        row("time", LEAP.toLocalTime());
        row("time with offset", LEAP.toLocalTime().atOffset(ZoneOffset.ofHoursMinutes(-3, -30)));
        row("datetime naive", LEAP);
        row("datetime naive before 1970", LocalDateTime.of(1, 1, 1, 0, 0, 0, 1000));
        OffsetDateTime utc = LEAP.atOffset(ZoneOffset.UTC);
        OffsetDateTime millis = utc.withNano(161000000);
        row("datetime UTC", utc);
        row("datetime UTC/Instant", utc.toInstant());
        row("datetime UTC whole milliseconds", millis);
        row("datetime UTC whole milliseconds/java.util.Date", Date.from(millis.toInstant()));
        row("datetime UTC whole milliseconds/java.sql.Timestamp", java.sql.Timestamp.from(millis.toInstant()));
        row("datetime offset", LEAP.atOffset(ZoneOffset.ofHoursMinutes(5, 30)));
        row("datetime offset/ZonedDateTime with an offset for a zone", LEAP.atZone(ZoneOffset.ofHoursMinutes(5, 30)));
        ZoneId berlin = ZoneId.of("Europe/Berlin");
        row("datetime zone", ZonedDateTime.of(2024, 7, 1, 12, 0, 0, 0, berlin));
        row(
                "datetime zone, second of two",
                ZonedDateTime.of(2024, 10, 27, 2, 30, 0, 0, berlin).withLaterOffsetAtOverlap());
        row("timedelta", Duration.ofDays(1).plusNanos(5000));
        row("timedelta negative", Duration.ofNanos(-1000));
        row("UUID", UUID.fromString("12345678-1234-5678-9abc-def012345678"));
        row("nanoseconds are cut off: time", LocalTime.ofNanoOfDay(1999));
        row("nanoseconds are cut off: LocalDateTime", LocalDateTime.ofEpochSecond(0, 1999, ZoneOffset.UTC));
        row("nanoseconds are cut off: Instant", Instant.ofEpochSecond(0, 1999));
        row("nanoseconds are cut off: Duration", Duration.ofSeconds(-1, 1999));
        row("a year that Python does not have: LocalDate", LocalDate.ofEpochDay(3650000));
        row(
                "a year that Python does not have: LocalDateTime",
                LocalDateTime.ofEpochSecond(1L << 40, 0, ZoneOffset.UTC));
        row("a year that Python does not have: Instant", Instant.ofEpochSecond(1L << 40));
        row("longer than a timedelta: Duration", Duration.ofSeconds(1L << 60));
        row("a set of dicts", Set.of(Map.of("a", 1)));
        row("float32", 1.5);
    }

    private static void references() {
        row("reference", new Object());
        row("reference that is sent back", new RecordingReferences.OfPeer());
        row("reference inside", list(new Object()));
    }

    static List<Object> list(Object... values) {
        return new ArrayList<>(Arrays.asList(values));
    }

    static Set<Object> set(Object... values) {
        return new LinkedHashSet<>(Arrays.asList(values));
    }

    static Map<Object, Object> map(Object... keysAndValues) {
        Map<Object, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < keysAndValues.length; i += 2) {
            map.put(keysAndValues[i], keysAndValues[i + 1]);
        }
        return map;
    }
}
