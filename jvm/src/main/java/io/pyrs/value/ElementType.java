package io.pyrs.value;

import io.pyrs.Classes;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;

/**
 * The Java type of a Python element: the {@code element_type=} of {@code to_jvm}, applied when the element is decoded.
 *
 * <p>It is a class name ("java.lang.Integer"; "int" means the same), an array ("long[]"), a List, Set, Collection or
 * Iterable of one of these ("java.util.List&lt;java.nio.ByteBuffer&gt;"), the name of an enum class, or any class of
 * which the value is an instance. An element of another type causes a {@link ConversionException} that names both
 * types.
 */
public class ElementType {
    /** Does not convert elements: they keep the classes of the value table. */
    public static final ElementType ANY = new ElementType("java.lang.Object", Object.class, value -> value) {
        @Override
        public Object from(Object value) {
            return value;
        }
    };

    /** The names of the Python types of decoded values. The first class that matches decides. */
    private static final List<Map.Entry<? extends Class<?>, String>> PYTHON_NAMES = List.of(
            Map.entry(Long.class, "int"),
            Map.entry(BigInteger.class, "int"),
            Map.entry(String.class, "str"),
            Map.entry(Double.class, "float"),
            Map.entry(Boolean.class, "bool"),
            Map.entry(byte[].class, "bytes"),
            Map.entry(ByteBuffer.class, "bytes"),
            Map.entry(Set.class, "set"),
            Map.entry(ArrayList.class, "list"),
            Map.entry(Map.class, "dict"),
            Map.entry(BigDecimal.class, "decimal.Decimal"),
            Map.entry(UUID.class, "uuid.UUID"),
            Map.entry(ArrowBatch.class, "pyarrow.RecordBatch"),
            Map.entry(LocalDate.class, "datetime.date"),
            Map.entry(LocalTime.class, "datetime.time"),
            Map.entry(OffsetTime.class, "datetime.time"),
            Map.entry(LocalDateTime.class, "datetime.datetime"),
            Map.entry(OffsetDateTime.class, "datetime.datetime"),
            Map.entry(ZonedDateTime.class, "datetime.datetime"),
            Map.entry(Duration.class, "datetime.timedelta"));

    private final String name;
    private final Class<?> component;
    private final Function<Object, Object> conversion;

    /**
     * Creates an element type.
     *
     * @param component the component class of an array of this type
     * @param conversion converts a value to this type; returns null if it does not fit
     */
    ElementType(String name, Class<?> component, Function<Object, Object> conversion) {
        this.name = name;
        this.component = component;
        this.conversion = conversion;
    }

    /**
     * Returns the element type of a class name; null means {@link #ANY}.
     *
     * @throws IllegalArgumentException if there is no such class
     */
    public static ElementType of(String className, ClassLoader loader) {
        if (className == null || className.equals("java.lang.Object")) {
            return ANY;
        }
        String name = className.replace(" ", "");
        if (name.endsWith(">") && name.indexOf('<') > 0) {
            return collectionOf(name, loader);
        }
        if (name.equals("byte[]")) {
            return instanceOf(name, byte[].class);
        }
        if (name.endsWith("[]")) {
            return arrayOf(name, loader);
        }
        ElementType scalar = ScalarElementTypes.of(name);
        ElementType known = scalar != null ? scalar : ForeignElementTypes.of(name, loader);
        return known != null ? known : ofClass(name, load(name, loader));
    }

    /** Returns the element type of a class: that of its own loader, or of the given one for a class of the JDK. */
    public static ElementType of(Class<?> type, ClassLoader loader) {
        ClassLoader own = type.getClassLoader();
        return of(type.getTypeName(), own == null ? loader : own);
    }

    /** Converts a value to this type; null stays null. */
    public Object from(Object value) {
        Object result = value == null ? null : conversion.apply(value);
        if (result == null && value != null) {
            if (component != Object.class && component.isInstance(value)) {
                return value; // a Java object that Python received by reference and returns
            }
            throw new ConversionException("a Python " + pythonName(value) + " does not fit " + name + detail(value));
        }
        return result;
    }

    /** Returns the component class of an array of this type. */
    Class<?> component() {
        return component;
    }

    @Override
    public final String toString() {
        return name;
    }

    private static ElementType ofClass(String name, Class<?> type) {
        if (!type.isEnum()) {
            return instanceOf(name, type);
        }
        Object[] constants = type.getEnumConstants();
        return new ElementType(name, type, value -> {
            for (Object each : constants) {
                if (each == value || ((Enum<?>) each).name().equals(value)) {
                    return each;
                }
            }
            return null;
        });
    }

    /** Returns the type of the instances of a class, without a conversion. */
    static ElementType instanceOf(String name, Class<?> type) {
        return new ElementType(name, type, value -> type.isInstance(value) ? value : null);
    }

    @SuppressWarnings("unchecked")
    private static ElementType collectionOf(String name, ClassLoader loader) {
        int open = name.indexOf('<');
        Class<?> type = load(name.substring(0, open), loader);
        if (type != List.class && type != Set.class && type != Collection.class && type != Iterable.class) {
            throw new IllegalArgumentException(
                    "element_type " + name + ": only List, Set, Collection and Iterable take a type argument");
        }
        ElementType content = of(name.substring(open + 1, name.length() - 1), loader);
        return new ElementType(name, Object.class, value -> {
            if (!type.isInstance(value)) {
                return null;
            }
            Collection<Object> members = (Collection<Object>) value;
            Collection<Object> converted =
                    value instanceof Set ? new LinkedHashSet<>() : new ArrayList<>(members.size());
            boolean changed = false;
            for (Object each : members) {
                Object member = content.from(each);
                changed |= member != each;
                converted.add(member);
            }
            // The value may be a Java object of the user that returns, so its members are not replaced.
            return changed ? converted : value;
        });
    }

    private static ElementType arrayOf(String name, ClassLoader loader) {
        String componentName = name.substring(0, name.length() - 2);
        ElementType content = of(componentName, loader);
        Class<?> primitive = MethodType.methodType(content.component).unwrap().returnType();
        Class<?> component = primitive.getName().equals(componentName) ? primitive : content.component;
        return new ElementType(name, Array.newInstance(component, 0).getClass(), value -> {
            if (!(value instanceof Collection)) {
                return null;
            }
            Collection<?> list = (Collection<?>) value;
            Object array = Array.newInstance(component, list.size());
            int i = 0;
            for (Object each : list) {
                if (each == null && component.isPrimitive()) {
                    throw new ConversionException("None inside a list does not fit " + name);
                }
                Array.set(array, i++, content.from(each));
            }
            return array;
        });
    }

    private static Class<?> load(String name, ClassLoader loader) {
        try {
            return Classes.load(name, loader == null ? ElementType.class.getClassLoader() : loader);
        } catch (ClassNotFoundException e) {
            throw new IllegalArgumentException("element_type " + name + ": class not found", e);
        }
    }

    /** Converts an integer to a Long, Integer, Short or Byte; returns null if it does not fit, or for another type. */
    public static Object narrow(long value, Class<?> box) {
        if (box == Long.class) {
            return value;
        } else if (box == Integer.class && (int) value == value) {
            return (int) value;
        } else if (box == Short.class && (short) value == value) {
            return (short) value;
        }
        return box == Byte.class && (byte) value == value ? (byte) value : null;
    }

    /** Returns the name of the Python type that a decoded value had. */
    public static String pythonName(Object value) {
        return PYTHON_NAMES.stream()
                .filter(each -> each.getKey().isInstance(value))
                .map(Map.Entry::getValue)
                .findFirst()
                .orElseGet(() -> "object (in Java a " + value.getClass().getName() + ")");
    }

    private static String detail(Object value) {
        if (value instanceof Number || value instanceof Boolean) {
            String text = value.toString();
            return ": " + (text.length() > 60 ? text.substring(0, 60) + "..." : text);
        }
        return "";
    }
}
