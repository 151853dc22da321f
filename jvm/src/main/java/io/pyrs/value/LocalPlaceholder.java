package io.pyrs.value;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Stands for a local object in a decoded control frame.
 *
 * <p>The reader thread of a link decodes control frames. An object of the user that returns as the key of a map or as a
 * member of a set must be hashed, and its {@code hashCode} may block. The thread that uses the value therefore puts the
 * objects into their places with {@link #restored}.
 */
public final class LocalPlaceholder {
    private final Object target;

    LocalPlaceholder(Object target) {
        this.target = target;
    }

    /** Names the class of the object, for messages. The {@code toString} of the object may block. */
    @Override
    public String toString() {
        return "a " + target.getClass().getName();
    }

    /** Returns the object of a placeholder, and any other value unchanged. */
    static Object targetOf(Object value) {
        return value instanceof LocalPlaceholder ? ((LocalPlaceholder) value).target : value;
    }

    /**
     * Returns a decoded value in which each placeholder is replaced by its object. Calls methods of the user.
     *
     * @throws ConversionException if a method of an object throws
     */
    public static Object restored(Object value) {
        try {
            return replace(value);
        } catch (Throwable error) {
            throw ValueDecoder.conversionFailure(error);
        }
    }

    @SuppressWarnings("unchecked")
    private static Object replace(Object value) {
        if (value instanceof LocalPlaceholder) {
            return ((LocalPlaceholder) value).target;
        }
        // Only the decoder's own containers hold placeholders, and they are exactly of these classes.
        Class<?> type = value == null ? null : value.getClass();
        if (type == ArrayList.class) {
            ((List<Object>) value).replaceAll(LocalPlaceholder::replace);
        } else if (type == LinkedHashSet.class) {
            Set<Object> members = new LinkedHashSet<>();
            ((Set<Object>) value).forEach(member -> members.add(replace(member)));
            return members;
        } else if (type == LinkedHashMap.class) {
            Map<Object, Object> entries = new LinkedHashMap<>();
            ((Map<Object, Object>) value).forEach((key, each) -> entries.put(replace(key), replace(each)));
            return entries;
        }
        return value;
    }
}
