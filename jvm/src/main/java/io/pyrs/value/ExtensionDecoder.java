package io.pyrs.value;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.Map;
import java.util.UUID;

/** Decodes the extension types that hold a scalar. */
final class ExtensionDecoder {
    private static final Map<Byte, String> PYTHON_TYPES = Map.of(
            ExtensionTypes.BIG_INTEGER, "int",
            ExtensionTypes.DECIMAL, "decimal.Decimal",
            ExtensionTypes.DATE, "datetime.date",
            ExtensionTypes.TIME, "datetime.time",
            ExtensionTypes.DURATION, "datetime.timedelta");

    private ExtensionDecoder() {}

    static Object read(byte type, byte[] payload) {
        ByteBuffer bytes = ByteBuffer.wrap(payload);
        try {
            Object value = read(type, payload, bytes);
            if (bytes.hasRemaining()) {
                throw new MalformedValueException("extension type " + type + " with " + payload.length + " bytes");
            }
            return value;
        } catch (BufferUnderflowException e) {
            throw new MalformedValueException("extension type " + type + " with " + payload.length + " bytes", e);
        } catch (DateTimeException | ArithmeticException | NumberFormatException e) {
            throw new ConversionException(
                    "a " + PYTHON_TYPES.getOrDefault(type, "datetime.datetime") + " cannot be converted to Java: "
                            + e.getMessage(),
                    e);
        }
    }

    private static Object read(byte type, byte[] payload, ByteBuffer bytes) {
        switch (type) {
            case ExtensionTypes.BIG_INTEGER:
                return new BigInteger(rest(bytes));
            case ExtensionTypes.DECIMAL:
                return new BigDecimal(new String(rest(bytes), StandardCharsets.UTF_8));
            case ExtensionTypes.DATE:
                return LocalDate.ofEpochDay(bytes.getLong());
            case ExtensionTypes.TIME:
                LocalTime time = LocalTime.ofNanoOfDay(bytes.getLong());
                return payload.length == 8 ? time : time.atOffset(ZoneOffset.ofTotalSeconds(bytes.getInt()));
            case ExtensionTypes.LOCAL_DATETIME:
                return LocalDateTime.ofEpochSecond(bytes.getLong(), bytes.getInt(), ZoneOffset.UTC);
            case ExtensionTypes.DATETIME:
                return moment(bytes);
            case ExtensionTypes.DURATION:
                return Duration.ofSeconds(bytes.getLong(), bytes.getInt());
            case ExtensionTypes.UUID:
                return new UUID(bytes.getLong(), bytes.getLong());
            case ExtensionTypes.ARROW:
                bytes.position(bytes.limit());
                return new ArrowBatch(payload, 0, payload.length);
            default:
                throw new MalformedValueException("unknown extension type " + type);
        }
    }

    private static Object moment(ByteBuffer bytes) {
        Instant instant = Instant.ofEpochSecond(bytes.getLong(), bytes.getInt());
        ZoneOffset offset = ZoneOffset.ofTotalSeconds(bytes.getInt());
        if (!bytes.hasRemaining()) {
            return OffsetDateTime.ofInstant(instant, offset);
        }
        return ZonedDateTime.ofInstant(instant, ZoneId.of(new String(rest(bytes), StandardCharsets.UTF_8)));
    }

    private static byte[] rest(ByteBuffer bytes) {
        byte[] rest = new byte[bytes.remaining()];
        bytes.get(rest);
        return rest;
    }
}
