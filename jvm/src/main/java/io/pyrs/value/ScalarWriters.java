package io.pyrs.value;

import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.Date;
import java.util.Set;
import java.util.UUID;
import org.msgpack.core.MessagePacker;

/** The writers of values that contain no other values. */
final class ScalarWriters {
    private static final Set<Class<?>> PLAIN = Set.of(
            Boolean.class,
            Byte.class,
            Short.class,
            Integer.class,
            Long.class,
            BigInteger.class,
            Float.class,
            Double.class,
            Character.class,
            String.class,
            byte[].class);
    private static final BigInteger LEAST = BigInteger.valueOf(Long.MIN_VALUE);

    private ScalarWriters() {}

    /** Returns whether the class is a box, BigInteger, String or byte[]: in Python bool, int, float, str or bytes. */
    static boolean isPlain(Class<?> type) {
        return PLAIN.contains(type);
    }

    /** Returns the writer of a scalar class, or null for any other class. */
    static ValueWriter writerOf(Class<?> type) {
        if (type == Long.class || type == Integer.class || type == Short.class || type == Byte.class) {
            return (encoder, value, out, depth) -> out.packer.packLong(((Number) value).longValue());
        } else if (type == Double.class || type == Float.class) {
            return (encoder, value, out, depth) -> out.packer.packDouble(((Number) value).doubleValue());
        } else if (type == Boolean.class) {
            return (encoder, value, out, depth) -> out.packer.packBoolean((Boolean) value);
        } else if (type == String.class || type == Character.class) {
            return (encoder, value, out, depth) -> writeString(value.toString(), out.packer);
        } else if (BigInteger.class.isAssignableFrom(type)) {
            return (encoder, value, out, depth) -> writeBigInteger((BigInteger) value, out.packer);
        } else if (BigDecimal.class.isAssignableFrom(type)) {
            return (encoder, value, out, depth) ->
                    extension(ExtensionTypes.DECIMAL, value.toString().getBytes(StandardCharsets.UTF_8), out.packer);
        } else if (type == byte[].class) {
            return (encoder, value, out, depth) -> {
                byte[] array = (byte[]) value;
                out.packer.packBinaryHeader(array.length);
                out.packer.writePayload(array);
            };
        } else if (ByteBuffer.class.isAssignableFrom(type)) {
            return (encoder, value, out, depth) -> writeByteBuffer((ByteBuffer) value, out.packer);
        } else if (Enum.class.isAssignableFrom(type)) {
            // The class of a constant with a body is a subclass of its enum.
            return (encoder, value, out, depth) -> writeString(((Enum<?>) value).name(), out.packer);
        } else if (type == UUID.class) {
            return (encoder, value, out, depth) -> {
                UUID id = (UUID) value;
                byte[] payload = bytes(16)
                        .putLong(id.getMostSignificantBits())
                        .putLong(id.getLeastSignificantBits())
                        .array();
                extension(ExtensionTypes.UUID, payload, out.packer);
            };
        } else if (type == ArrowBatch.class) {
            return (encoder, value, out, depth) -> {
                ByteBuffer content = ((ArrowBatch) value).view();
                out.packer.packExtensionTypeHeader(ExtensionTypes.ARROW, content.remaining());
                out.writeConstant(content, depth);
            };
        }
        return temporal(type);
    }

    private static ValueWriter temporal(Class<?> type) {
        if (type == LocalDate.class) {
            return (encoder, value, out, depth) -> writeDate((LocalDate) value, out.packer);
        } else if (type == LocalTime.class) {
            return (encoder, value, out, depth) -> writeTime((LocalTime) value, out.packer);
        } else if (type == OffsetTime.class) {
            return (encoder, value, out, depth) -> {
                OffsetTime time = (OffsetTime) value;
                int offset = time.getOffset().getTotalSeconds();
                extension(ExtensionTypes.TIME, time.toLocalTime().toNanoOfDay(), offset, out.packer);
            };
        } else if (type == LocalDateTime.class) {
            return (encoder, value, out, depth) -> {
                LocalDateTime moment = (LocalDateTime) value;
                long seconds = moment.toEpochSecond(ZoneOffset.UTC);
                extension(ExtensionTypes.LOCAL_DATETIME, seconds, moment.getNano(), out.packer);
            };
        } else if (type == OffsetDateTime.class) {
            return (encoder, value, out, depth) -> {
                OffsetDateTime moment = (OffsetDateTime) value;
                writeDateTime(moment.toEpochSecond(), moment.getNano(), moment.getOffset(), "", out.packer);
            };
        } else if (type == ZonedDateTime.class) {
            return (encoder, value, out, depth) -> {
                ZonedDateTime moment = (ZonedDateTime) value;
                String zone = moment.getZone() instanceof ZoneOffset
                        ? ""
                        : moment.getZone().getId();
                writeDateTime(moment.toEpochSecond(), moment.getNano(), moment.getOffset(), zone, out.packer);
            };
        } else if (type == Instant.class) {
            return (encoder, value, out, depth) -> writeInstant((Instant) value, out.packer);
        } else if (Date.class.isAssignableFrom(type)) {
            return legacyDate(type);
        } else if (type == Duration.class) {
            return (encoder, value, out, depth) -> {
                Duration span = (Duration) value;
                extension(ExtensionTypes.DURATION, span.getSeconds(), span.getNano(), out.packer);
            };
        }
        return null;
    }

    /** Selects java.sql.Date and java.sql.Time, whose toInstant throws, by name: the module java.sql is optional. */
    @SuppressWarnings("deprecation")
    private static ValueWriter legacyDate(Class<?> type) {
        switch (type.getName()) {
            case "java.sql.Date":
                return (encoder, value, out, depth) -> {
                    Date date = (Date) value;
                    writeDate(LocalDate.of(date.getYear() + 1900, date.getMonth() + 1, date.getDate()), out.packer);
                };
            case "java.sql.Time":
                return (encoder, value, out, depth) -> {
                    Date time = (Date) value;
                    int nano = (int) Math.floorMod(time.getTime(), 1_000L) * 1_000_000;
                    writeTime(LocalTime.of(time.getHours(), time.getMinutes(), time.getSeconds(), nano), out.packer);
                };
            default:
                return (encoder, value, out, depth) -> writeInstant(((Date) value).toInstant(), out.packer);
        }
    }

    /** Writes a str. Throws for a lone surrogate, which String.getBytes would silently replace by "?". */
    static void writeString(String text, MessagePacker packer) throws IOException {
        for (int i = 0, length = text.length(); i < length; i++) {
            char c = text.charAt(i);
            if (Character.isSurrogate(c)) {
                if (Character.isLowSurrogate(c) || i + 1 == length || !Character.isLowSurrogate(text.charAt(i + 1))) {
                    throw new ConversionException(String.format(
                            "a java.lang.String with a lone surrogate (U+%04X at %d) cannot be converted to a str",
                            (int) c, i));
                }
                i++;
            }
        }
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        packer.packRawStringHeader(bytes.length);
        packer.writePayload(bytes);
    }

    private static void writeBigInteger(BigInteger value, MessagePacker packer) throws IOException {
        // msgpack has its own signed and unsigned integers of 64 bits.
        if (value.signum() < 0 ? value.compareTo(LEAST) >= 0 : value.bitLength() <= 64) {
            packer.packBigInteger(value);
        } else {
            extension(ExtensionTypes.BIG_INTEGER, value.toByteArray(), packer);
        }
    }

    /** Writes the bytes between position and limit without changing the position. */
    private static void writeByteBuffer(ByteBuffer buffer, MessagePacker packer) throws IOException {
        int length = buffer.remaining();
        packer.packBinaryHeader(length);
        if (buffer.hasArray()) {
            packer.writePayload(buffer.array(), buffer.arrayOffset() + buffer.position(), length);
        } else {
            byte[] copy = new byte[length];
            buffer.duplicate().get(copy);
            packer.writePayload(copy);
        }
    }

    private static void writeDate(LocalDate date, MessagePacker packer) throws IOException {
        extension(ExtensionTypes.DATE, bytes(8).putLong(date.toEpochDay()).array(), packer);
    }

    private static void writeTime(LocalTime time, MessagePacker packer) throws IOException {
        extension(ExtensionTypes.TIME, bytes(8).putLong(time.toNanoOfDay()).array(), packer);
    }

    private static void writeInstant(Instant instant, MessagePacker packer) throws IOException {
        writeDateTime(instant.getEpochSecond(), instant.getNano(), ZoneOffset.UTC, "", packer);
    }

    private static void writeDateTime(long second, int nano, ZoneOffset offset, String zone, MessagePacker packer)
            throws IOException {
        byte[] name = zone.getBytes(StandardCharsets.UTF_8);
        byte[] payload = bytes(16 + name.length)
                .putLong(second)
                .putInt(nano)
                .putInt(offset.getTotalSeconds())
                .put(name)
                .array();
        extension(ExtensionTypes.DATETIME, payload, packer);
    }

    private static void extension(byte type, long first, int second, MessagePacker packer) throws IOException {
        extension(type, bytes(12).putLong(first).putInt(second).array(), packer);
    }

    static void extension(byte type, byte[] payload, MessagePacker packer) throws IOException {
        packer.packExtensionTypeHeader(type, payload.length);
        packer.writePayload(payload);
    }

    static ByteBuffer bytes(int length) {
        return ByteBuffer.allocate(length);
    }
}
