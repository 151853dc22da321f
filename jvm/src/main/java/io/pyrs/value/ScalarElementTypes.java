package io.pyrs.value;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.util.Date;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** Element types of scalars: numbers, strings, bytes, dates and times. */
final class ScalarElementTypes {
    private static final Map<String, String> BOXES = Map.of(
            "long", "java.lang.Long",
            "int", "java.lang.Integer",
            "short", "java.lang.Short",
            "byte", "java.lang.Byte",
            "double", "java.lang.Double",
            "float", "java.lang.Float",
            "boolean", "java.lang.Boolean",
            "char", "java.lang.Character");

    private ScalarElementTypes() {}

    static ElementType of(String givenName) {
        String name = BOXES.getOrDefault(givenName, givenName);
        switch (name) {
            case "java.lang.Long":
                return ElementType.instanceOf(name, Long.class);
            case "java.lang.Integer":
                return new ElementType(
                        name, Integer.class, whole(Integer.MIN_VALUE, Integer.MAX_VALUE, Long::intValue));
            case "java.lang.Short":
                return new ElementType(name, Short.class, whole(Short.MIN_VALUE, Short.MAX_VALUE, Long::shortValue));
            case "java.lang.Byte":
                return new ElementType(name, Byte.class, whole(Byte.MIN_VALUE, Byte.MAX_VALUE, Long::byteValue));
            case "java.lang.Double":
                return new ElementType(name, Double.class, ScalarElementTypes::toDouble);
            case "java.lang.Float":
                return new ElementType(name, Float.class, ScalarElementTypes::toFloat);
            case "java.lang.Boolean":
                return ElementType.instanceOf(name, Boolean.class);
            case "java.lang.Character":
                return new ElementType(
                        name,
                        Character.class,
                        value -> value instanceof String && ((String) value).length() == 1
                                ? ((String) value).charAt(0)
                                : null);
            case "java.math.BigInteger":
                return new ElementType(name, BigInteger.class, ScalarElementTypes::toBigInteger);
            case "java.math.BigDecimal":
                return new ElementType(name, BigDecimal.class, ScalarElementTypes::toBigDecimal);
            case "java.nio.ByteBuffer":
                return new ElementType(
                        name,
                        ByteBuffer.class,
                        value -> value instanceof byte[] ? ByteBuffer.wrap((byte[]) value) : null);
            case "java.time.Instant":
                return new ElementType(name, Instant.class, ScalarElementTypes::toInstant);
            case "java.time.OffsetDateTime":
                return new ElementType(
                        name,
                        OffsetDateTime.class,
                        value -> value instanceof ZonedDateTime
                                ? ((ZonedDateTime) value).toOffsetDateTime()
                                : only(OffsetDateTime.class, value));
            case "java.time.ZonedDateTime":
                return new ElementType(
                        name,
                        ZonedDateTime.class,
                        value -> value instanceof OffsetDateTime
                                ? ((OffsetDateTime) value).toZonedDateTime()
                                : only(ZonedDateTime.class, value));
            case "java.time.LocalDateTime":
                return ElementType.instanceOf(name, LocalDateTime.class);
            case "java.util.Date":
                return new ElementType(name, Date.class, value -> {
                    Instant instant = (Instant) toInstant(value);
                    return instant == null ? null : Date.from(instant);
                });
            case "java.util.Optional":
                return new ElementType(
                        name, Optional.class, value -> value instanceof Optional ? value : Optional.of(value));
            default:
                return null;
        }
    }

    /** Returns whether a primitive class has this name. */
    static boolean isPrimitive(String name) {
        return BOXES.containsKey(name);
    }

    private static Object only(Class<?> type, Object value) {
        return type.isInstance(value) ? value : null;
    }

    private static Function<Object, Object> whole(long least, long most, Function<Long, Object> narrow) {
        return value -> {
            if (value instanceof Long) {
                Long number = (Long) value;
                return number >= least && number <= most ? narrow.apply(number) : null;
            }
            return null;
        };
    }

    /** Converts a float, and an int that a double represents exactly. */
    private static Object toDouble(Object value) {
        if (value instanceof Long) {
            long whole = (Long) value;
            double number = whole;
            return (long) number == whole && whole != Long.MAX_VALUE ? (Object) number : null;
        }
        return only(Double.class, value);
    }

    /** Rounds to the nearest float; a finite number that would become infinite does not fit. */
    private static Object toFloat(Object value) {
        Object number = toDouble(value);
        if (number == null) {
            return null;
        }
        double wide = (Double) number;
        float narrow = (float) wide;
        return Float.isInfinite(narrow) && !Double.isInfinite(wide) ? null : (Object) narrow;
    }

    private static Object toBigInteger(Object value) {
        return value instanceof Long ? BigInteger.valueOf((Long) value) : only(BigInteger.class, value);
    }

    private static Object toBigDecimal(Object value) {
        if (value instanceof BigDecimal) {
            return value;
        }
        BigInteger whole = (BigInteger) toBigInteger(value);
        return whole == null ? null : new BigDecimal(whole);
    }

    private static Object toInstant(Object value) {
        if (value instanceof OffsetDateTime) {
            return ((OffsetDateTime) value).toInstant();
        }
        return value instanceof ZonedDateTime ? ((ZonedDateTime) value).toInstant() : only(Instant.class, value);
    }
}
