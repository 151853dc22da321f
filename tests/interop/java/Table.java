package interop;

import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** One Java object for each row of the value table, and an exact notation for Java objects. */
public final class Table {
    private static final Map<String, Object> ROWS = new HashMap<>();

    private Table() {}

    static {
        ROWS.put("Boolean", true);
        ROWS.put("Byte", (byte) -128);
        ROWS.put("Short", (short) 32767);
        ROWS.put("Integer", -2147483648);
        ROWS.put("Long", Long.MAX_VALUE);
        ROWS.put("Long.MIN", Long.MIN_VALUE);
        ROWS.put("BigInteger", BigInteger.ONE.shiftLeft(200));
        ROWS.put("BigInteger.negative", BigInteger.ONE.shiftLeft(200).negate());
        ROWS.put("BigInteger.small", BigInteger.valueOf(5));
        ROWS.put("BigInteger.unsigned", BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE));
        ROWS.put("Float", 1.5f);
        ROWS.put("Double", 0.1);
        ROWS.put("Double.NaN", Double.NaN);
        ROWS.put("Double.infinite", Double.NEGATIVE_INFINITY);
        ROWS.put("Double.zero", -0.0);
        ROWS.put("BigDecimal", new BigDecimal("1.50"));
        ROWS.put("BigDecimal.exponent", new BigDecimal("12E+30"));
        ROWS.put("String", "gr\u00fc\u00df \ud83d\ude00");
        ROWS.put("String.empty", "");
        ROWS.put("String.surrogate", "a\ud800b");
        ROWS.put("Character", 'x');
        ROWS.put("byte[]", new byte[] {0, 1, -1});
        ROWS.put("byte[].empty", new byte[0]);
        ROWS.put("ByteBuffer", ByteBuffer.wrap(new byte[] {9, 1, 2, 9}, 1, 2));
        ROWS.put("ByteBuffer.readOnly", ByteBuffer.wrap(new byte[] {1, 2}).asReadOnlyBuffer());
        ROWS.put("ByteBuffer.direct", ByteBuffer.allocateDirect(2).put((byte) 1).put((byte) 2).flip());
        ROWS.put("List<ByteBuffer>", List.of(ByteBuffer.wrap(new byte[] {1}), ByteBuffer.wrap(new byte[] {2, 3})));
        ROWS.put("List", new ArrayList<>(List.of(1, "a", List.of(2.5))));
        ROWS.put("List.null", new ArrayList<>(Arrays.asList(1, null)));
        ROWS.put("LinkedList", new LinkedList<>(List.of(1, 2)));
        ROWS.put("Deque", new ArrayDeque<>(List.of(1, 2)));
        ROWS.put("Set", new TreeSet<>(List.of(3, 1, 2)));
        ROWS.put("Set.of", Set.of("a", "b"));
        ROWS.put("Map", new LinkedHashMap<>(new TreeMap<>(Map.of("a", 1, "b", List.of(2)))));
        ROWS.put("Map.numbers", new HashMap<>(Map.of(1L, "one")));
        ROWS.put("Map.empty", new HashMap<>());
        ROWS.put("Optional", Optional.of("there"));
        ROWS.put("Optional.empty.in.list", List.of(Optional.empty()));
        ROWS.put("OptionalInt", OptionalInt.of(4));
        ROWS.put("OptionalLong", OptionalLong.of(5));
        ROWS.put("OptionalDouble", OptionalDouble.of(1.5));
        ROWS.put("Object[]", new Object[] {1, "a"});
        ROWS.put("String[]", new String[] {"a", "b"});
        ROWS.put("int[]", new int[] {1, 2});
        ROWS.put("long[]", new long[] {1, 2});
        ROWS.put("short[]", new short[] {1, 2});
        ROWS.put("double[]", new double[] {1.5});
        ROWS.put("float[]", new float[] {1.5f});
        ROWS.put("boolean[]", new boolean[] {true, false});
        ROWS.put("char[]", new char[] {'a', 'b'});
        ROWS.put("int[][]", new int[][] {{1}, {2, 3}});
        ROWS.put("enum", DayOfWeek.FRIDAY);
        ROWS.put("enum.body", TimeUnit.SECONDS);
        ROWS.put("UUID", UUID.fromString("01234567-89ab-cdef-fedc-ba9876543210"));
        ROWS.put("LocalDate", LocalDate.of(2024, 2, 29));
        ROWS.put("LocalDate.far", LocalDate.of(20000, 1, 1));
        ROWS.put("LocalTime", LocalTime.of(23, 59, 58, 123_456_000));
        ROWS.put("OffsetTime", OffsetTime.of(1, 2, 3, 0, ZoneOffset.ofHours(2)));
        ROWS.put("LocalDateTime", LocalDateTime.of(1969, 12, 31, 23, 59, 59, 999_999_000));
        ROWS.put("OffsetDateTime", OffsetDateTime.of(2024, 1, 2, 3, 4, 5, 6_000, ZoneOffset.ofHoursMinutes(-3, -30)));
        ROWS.put("ZonedDateTime", ZonedDateTime.of(2024, 7, 1, 12, 0, 0, 0, ZoneId.of("Europe/Berlin")));
        ROWS.put("Instant", Instant.ofEpochSecond(-1, 500_000_000));
        ROWS.put("Instant.nanos", Instant.ofEpochSecond(1, 1));
        ROWS.put("Date", new Date(1_500));
        ROWS.put("ZonedDateTime.offset", ZonedDateTime.of(2024, 7, 1, 12, 0, 0, 0, ZoneOffset.ofHours(2)));
        ROWS.put("sql.Date", java.sql.Date.valueOf("2024-02-29"));
        ROWS.put("sql.Time", java.sql.Time.valueOf("23:59:58"));
        ROWS.put("sql.Timestamp", java.sql.Timestamp.from(Instant.ofEpochSecond(1, 500_000_999)));
        ROWS.put("LocalTime.nanos", LocalTime.ofNanoOfDay(1_999));
        ROWS.put("LocalDateTime.far", LocalDateTime.of(10_000, 1, 1, 0, 0));
        ROWS.put("Instant.far", Instant.MAX);
        ROWS.put("Duration.far", Duration.ofSeconds(Long.MAX_VALUE));
        ROWS.put("Set.lists", Set.of(List.of(1, 2)));
        ROWS.put("Set.sets", Set.of(Set.of(1)));
        ROWS.put("Set.maps", Set.of(Map.of("a", 1)));
        ROWS.put("Map.lists", Map.of(List.of(1), 2));
        ROWS.put("Map.ordered", new LinkedHashMap<>(Map.of("z", 1)));
        ROWS.put("record", new Pair(1, "one"));
        ROWS.put("itself", itself());
        ROWS.put("StringBuilder", new StringBuilder("built"));
        ROWS.put("AtomicLong", new java.util.concurrent.atomic.AtomicLong(5));
        ROWS.put("CompletionStage", java.util.concurrent.CompletableFuture.completedFuture(7));
        ROWS.put("Duration", Duration.ofSeconds(-1, 500_000_000));
        ROWS.put("Duration.nanos", Duration.ofNanos(1));
    }

    private static List<Object> itself() {
        List<Object> list = new ArrayList<>();
        list.add(list);
        return list;
    }

    /** A record. */
    public record Pair(int left, String right) {}

    public static Object make(String row) {
        Object value = ROWS.get(row);
        if (value == null) {
            throw new IllegalArgumentException("no row " + row);
        }
        return value;
    }

    /** Returns a Publisher of one element, the object of the row. */
    public static org.reactivestreams.Publisher<Object> publisher(String row) {
        return Sources.one(make(row));
    }

    /** Returns class and content, such as "Long 5", "List[Long 1, String a]", "byte[] 00ff". */
    public static String describe(Object value) {
        if (value == null) {
            return "null";
        } else if (value instanceof byte[]) {
            return "byte[] " + hex(ByteBuffer.wrap((byte[]) value));
        } else if (value instanceof ByteBuffer) {
            return "ByteBuffer " + hex(((ByteBuffer) value).duplicate());
        } else if (value.getClass().isArray()) {
            String inside = java.util.stream.IntStream.range(0, Array.getLength(value))
                    .mapToObj(i -> describe(Array.get(value, i))).collect(Collectors.joining(", "));
            return value.getClass().getComponentType().getSimpleName() + "[][" + inside + "]";
        } else if (value instanceof Map) {
            return ((Map<?, ?>) value).entrySet().stream()
                    .map(entry -> describe(entry.getKey()) + ": " + describe(entry.getValue()))
                    .collect(Collectors.joining(", ", "Map{", "}"));
        } else if (value instanceof Set) {
            return ((Set<?>) value).stream().map(Table::describe).sorted().collect(Collectors.joining(", ", "Set[", "]"));
        } else if (value instanceof List) {
            return ((Collection<?>) value).stream().map(Table::describe).collect(Collectors.joining(", ", "List[", "]"));
        }
        return value.getClass().getSimpleName() + " " + value;
    }

    private static String hex(ByteBuffer bytes) {
        if (bytes.remaining() > 64) {
            java.util.zip.CRC32 sum = new java.util.zip.CRC32();
            int length = bytes.remaining();
            sum.update(bytes);
            return length + " bytes, crc " + sum.getValue();
        }
        StringBuilder text = new StringBuilder();
        while (bytes.hasRemaining()) {
            text.append(String.format("%02x", bytes.get()));
        }
        return text.toString();
    }

    /** Returns a Publisher of one array of that size, with content that Python can compute. */
    public static org.reactivestreams.Publisher<Object> large(int size) {
        return Sources.one(ofSize(size));
    }

    private static byte[] ofSize(int size) {
        byte[] array = new byte[size];
        for (int i = 0; i < size; i++) {
            array[i] = (byte) (i * 31 + (i >> 8));
        }
        return array;
    }

    /** Emits objects that only the stream references. */
    public static org.reactivestreams.Publisher<Object> points(int count) {
        return Sources.ofThreads(count, number -> new Point((int) number, (int) number));
    }

    /** Returns an object whose class has no row and inherits the default method greet from an interface. */
    public static Object thing() {
        return new Hidden();
    }

    /** An interface with a default method. */
    public interface Greeter {
        default String greet(String whom) {
            return "hello " + whom;
        }
    }

    /** Inherits the default method. */
    public interface PoliteGreeter extends Greeter {}

    private static final class Hidden implements PoliteGreeter {
        @Override public String toString() {
            return "a hidden thing";
        }
    }

    /** A bean, which a conversion may read. */
    public static final class Point {
        private final int x;
        private final int y;

        public Point(int x, int y) {
            this.x = x;
            this.y = y;
        }

        public int getX() {
            return x;
        }

        public int getY() {
            return y;
        }

        @Override public String toString() {
            return "Point(" + x + ", " + y + ")";
        }
    }
}
