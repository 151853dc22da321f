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
import java.util.UUID;

/** Decodes the extension types that hold a scalar. */
final class ExtensionValues {
    private ExtensionValues() {}

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
            throw new ConversionException("a " + pythonType(type) + " has no form in Java: " + e.getMessage(), e);
        }
    }

    private static Object read(byte type, byte[] payload, ByteBuffer bytes) {
        switch (type) {
            case Extensions.BIG_INTEGER:
                return new BigInteger(rest(bytes));
            case Extensions.DECIMAL:
                return new BigDecimal(new String(rest(bytes), StandardCharsets.UTF_8));
            case Extensions.DATE:
                return LocalDate.ofEpochDay(bytes.getLong());
            case Extensions.TIME:
                LocalTime time = LocalTime.ofNanoOfDay(bytes.getLong());
                return payload.length == 8 ? time : time.atOffset(ZoneOffset.ofTotalSeconds(bytes.getInt()));
            case Extensions.LOCAL_DATETIME:
                return LocalDateTime.ofEpochSecond(bytes.getLong(), bytes.getInt(), ZoneOffset.UTC);
            case Extensions.DATETIME:
                return moment(bytes);
            case Extensions.DURATION:
                return Duration.ofSeconds(bytes.getLong(), bytes.getInt());
            case Extensions.UUID:
                return new UUID(bytes.getLong(), bytes.getLong());
            case Extensions.ARROW:
                return new ArrowBatch(rest(bytes));
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

    private static String pythonType(byte type) {
        switch (type) {
            case Extensions.BIG_INTEGER:
                return "int";
            case Extensions.DECIMAL:
                return "decimal.Decimal";
            case Extensions.DATE:
                return "datetime.date";
            case Extensions.TIME:
                return "datetime.time";
            case Extensions.DURATION:
                return "datetime.timedelta";
            default:
                return "datetime.datetime";
        }
    }
}
