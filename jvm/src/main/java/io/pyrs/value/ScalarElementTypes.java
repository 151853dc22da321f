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
                return of(name, Long.class, value -> value instanceof Long ? value : null);
            case "java.lang.Integer":
                return of(name, Integer.class, whole(Integer.MIN_VALUE, Integer.MAX_VALUE, Long::intValue));
            case "java.lang.Short":
                return of(name, Short.class, whole(Short.MIN_VALUE, Short.MAX_VALUE, Long::shortValue));
            case "java.lang.Byte":
                return of(name, Byte.class, whole(Byte.MIN_VALUE, Byte.MAX_VALUE, Long::byteValue));
            case "java.lang.Double":
                return of(name, Double.class, ScalarElementTypes::toDouble);
            case "java.lang.Float":
                return of(name, Float.class, ScalarElementTypes::toFloat);
            case "java.lang.Boolean":
                return of(name, Boolean.class, value -> only(Boolean.class, value));
            case "java.lang.Character":
                return of(
                        name,
                        Character.class,
                        value -> value instanceof String && ((String) value).length() == 1
                                ? ((String) value).charAt(0)
                                : null);
            case "java.math.BigInteger":
                return of(name, BigInteger.class, ScalarElementTypes::toBigInteger);
            case "java.math.BigDecimal":
                return of(name, BigDecimal.class, ScalarElementTypes::toBigDecimal);
            case "java.nio.ByteBuffer":
                return of(
                        name,
                        ByteBuffer.class,
                        value -> value instanceof byte[] ? ByteBuffer.wrap((byte[]) value) : null);
            case "java.time.Instant":
                return of(name, Instant.class, ScalarElementTypes::toInstant);
            case "java.time.OffsetDateTime":
                return of(
                        name,
                        OffsetDateTime.class,
                        value -> value instanceof ZonedDateTime
                                ? ((ZonedDateTime) value).toOffsetDateTime()
                                : only(OffsetDateTime.class, value));
            case "java.time.ZonedDateTime":
                return of(
                        name,
                        ZonedDateTime.class,
                        value -> value instanceof OffsetDateTime
                                ? ((OffsetDateTime) value).toZonedDateTime()
                                : only(ZonedDateTime.class, value));
            case "java.time.LocalDateTime":
                return of(name, LocalDateTime.class, value -> only(LocalDateTime.class, value));
            case "java.util.Date":
                return of(name, Date.class, value -> {
                    Instant instant = (Instant) toInstant(value);
                    return instant == null ? null : Date.from(instant);
                });
            case "java.util.Optional":
                return of(name, Optional.class, Optional::of);
            default:
                return null;
        }
    }

    /** Returns the primitive class of the name, or null. */
    static Class<?> primitive(String name) {
        switch (name) {
            case "long":
                return long.class;
            case "int":
                return int.class;
            case "short":
                return short.class;
            case "byte":
                return byte.class;
            case "double":
                return double.class;
            case "float":
                return float.class;
            case "boolean":
                return boolean.class;
            case "char":
                return char.class;
            default:
                return null;
        }
    }

    private static ElementType of(String name, Class<?> type, Function<Object, Object> conversion) {
        return new ElementType(name) {
            @Override
            Object convert(Object value) {
                return conversion.apply(value);
            }

            @Override
            Class<?> component() {
                return type;
            }
        };
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
