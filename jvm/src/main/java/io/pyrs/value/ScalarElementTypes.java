package io.pyrs.value;

import java.lang.invoke.MethodType;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** Element types of scalars: numbers, strings, bytes, dates and times. */
final class ScalarElementTypes {
    private static final Map<String, ElementType> TYPES = new HashMap<>();

    static {
        add(Long.class, value -> null);
        for (Class<?> each : List.of(Integer.class, Short.class, Byte.class)) {
            add(each, value -> value instanceof Long ? ElementType.narrow((Long) value, each) : null);
        }
        add(Double.class, ScalarElementTypes::toDouble);
        add(Float.class, ScalarElementTypes::toFloat);
        add(Boolean.class, value -> null);
        add(
                Character.class,
                value -> value instanceof String && ((String) value).length() == 1 ? ((String) value).charAt(0) : null);
        add(BigInteger.class, ScalarElementTypes::toBigInteger);
        add(BigDecimal.class, ScalarElementTypes::toBigDecimal);
        add(ByteBuffer.class, value -> value instanceof byte[] ? ByteBuffer.wrap((byte[]) value) : null);
        add(Instant.class, ScalarElementTypes::toInstant);
        add(
                OffsetDateTime.class,
                value -> value instanceof ZonedDateTime ? ((ZonedDateTime) value).toOffsetDateTime() : null);
        add(
                ZonedDateTime.class,
                value -> value instanceof OffsetDateTime ? ((OffsetDateTime) value).toZonedDateTime() : null);
        add(Date.class, value -> {
            Instant instant = (Instant) toInstant(value);
            return instant == null ? null : Date.from(instant);
        });
        add(Optional.class, value -> value instanceof Optional ? value : Optional.of(value));
    }

    private ScalarElementTypes() {}

    /** Adds a type; its conversion may return null for an instance of the type. */
    private static void add(Class<?> type, Function<Object, Object> conversion) {
        ElementType added = new ElementType(type.getName(), type, conversion);
        Class<?> primitive = MethodType.methodType(type).unwrap().returnType(); // the type itself if it is no box
        TYPES.put(type.getName(), added);
        TYPES.put(primitive.getName(), added);
    }

    /** Returns the element type of a scalar class, which may be primitive; null for the name of any other class. */
    static ElementType of(String name) {
        return TYPES.get(name);
    }

    private static Object only(Class<?> type, Object value) {
        return type.isInstance(value) ? value : null;
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
