package io.pyrs.value;

import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/**
 * What Java wants of a Python element: the {@code element_type=} of {@code to_jvm}, applied when the element is decoded.
 *
 * <p>A class name ("java.lang.Integer"; "int" means the same), an array ("long[]"), a List or Set of one of these
 * ("java.util.List&lt;java.nio.ByteBuffer&gt;"), an enum class by name, or any class that the value is an instance of.
 * What does not fit is a {@link ConversionException} that names both types.
 */
public abstract class ElementType {
    /** Elements as they come: the value table's own classes. */
    public static final ElementType ANY = new ElementType("java.lang.Object") {
        @Override
        public Object from(Object value) {
            return value;
        }
    };

    private final String name;

    ElementType(String name) {
        this.name = name;
    }

    /**
     * Reads a class name; null is {@link #ANY}.
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
        ElementType scalar = ScalarTypes.of(name);
        ElementType known = scalar != null ? scalar : ForeignTypes.of(name, loader);
        return known != null ? known : ofClass(name, load(name, loader));
    }

    /** The value as this type wants it; null stays null. */
    public Object from(Object value) {
        Object result = value == null ? null : convert(value);
        if (result == null && value != null) {
            throw new ConversionException("a Python " + pythonName(value) + " does not fit " + name + detail(value));
        }
        return result;
    }

    /** The value as this type wants it, or null if it does not fit. */
    Object convert(Object value) {
        return value;
    }

    /** The class that an array of this type has as its component. */
    Class<?> component() {
        return Object.class;
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
        return new ElementType(name) {
            @Override
            Object convert(Object value) {
                for (Object each : constants) {
                    if (each == value || ((Enum<?>) each).name().equals(value)) {
                        return each;
                    }
                }
                return null;
            }

            @Override
            Class<?> component() {
                return type;
            }
        };
    }

    private static ElementType instanceOf(String name, Class<?> type) {
        return new ElementType(name) {
            @Override
            Object convert(Object value) {
                return type.isInstance(value) ? value : null;
            }

            @Override
            Class<?> component() {
                return type;
            }
        };
    }

    private static ElementType collectionOf(String name, ClassLoader loader) {
        int open = name.indexOf('<');
        Class<?> type = load(name.substring(0, open), loader);
        if (type != List.class && type != Set.class && type != Collection.class && type != Iterable.class) {
            throw new IllegalArgumentException("element_type " + name + ": only List, Set, Collection and Iterable take"
                    + " a type in <>");
        }
        ElementType content = of(name.substring(open + 1, name.length() - 1), loader);
        return new ElementType(name) {
            @Override
            @SuppressWarnings("unchecked")
            Object convert(Object value) {
                if (!type.isInstance(value)) {
                    return null;
                }
                if (value instanceof List) {
                    ((List<Object>) value).replaceAll(content::from);
                    return value;
                }
                Set<Object> result = new java.util.LinkedHashSet<>();
                ((Collection<Object>) value).forEach(each -> result.add(content.from(each)));
                return result;
            }
        };
    }

    private static ElementType arrayOf(String name, ClassLoader loader) {
        String componentName = name.substring(0, name.length() - 2);
        ElementType content = of(componentName, loader);
        Class<?> primitive = ScalarTypes.primitive(componentName);
        Class<?> component = primitive == null ? content.component() : primitive;
        return new ElementType(name) {
            @Override
            Object convert(Object value) {
                if (!(value instanceof Collection)) {
                    return null;
                }
                Collection<?> list = (Collection<?>) value;
                Object array = Array.newInstance(component, list.size());
                int i = 0;
                for (Object each : list) {
                    if (each == null && component.isPrimitive()) {
                        throw new ConversionException("None inside a list does not fit " + name());
                    }
                    Array.set(array, i++, content.from(each));
                }
                return array;
            }

            @Override
            Class<?> component() {
                return Array.newInstance(component, 0).getClass();
            }
        };
    }

    final String name() {
        return name;
    }

    private static Class<?> load(String name, ClassLoader loader) {
        String each = name;
        while (true) {
            try {
                return Class.forName(each, false, loader == null ? ElementType.class.getClassLoader() : loader);
            } catch (ClassNotFoundException e) {
                // A nested class by its source name: a.B.C is a.B$C to the loader.
                int dot = each.lastIndexOf('.');
                if (dot < 0) {
                    throw new IllegalArgumentException("element_type " + name + ": there is no such class", e);
                }
                each = each.substring(0, dot) + "$" + each.substring(dot + 1);
            }
        }
    }

    /** The Python type that a decoded value came from. */
    public static String pythonName(Object value) {
        if (value instanceof Long || value instanceof BigInteger) {
            return "int";
        } else if (value instanceof String) {
            return "str";
        } else if (value instanceof Double) {
            return "float";
        } else if (value instanceof Boolean) {
            return "bool";
        } else if (value instanceof byte[] || value instanceof ByteBuffer) {
            return "bytes";
        } else if (value instanceof Set) {
            return "set";
        } else if (value instanceof ArrayList) {
            return "list";
        } else if (value instanceof Map) {
            return "dict";
        } else if (value instanceof BigDecimal) {
            return "decimal.Decimal";
        } else if (value instanceof UUID) {
            return "uuid.UUID";
        } else if (value instanceof ArrowBatch) {
            return "pyarrow.RecordBatch";
        }
        switch (value.getClass().getSimpleName()) {
            case "LocalDate":
                return "datetime.date";
            case "LocalTime":
            case "OffsetTime":
                return "datetime.time";
            case "LocalDateTime":
            case "OffsetDateTime":
            case "ZonedDateTime":
                return "datetime.datetime";
            case "Duration":
                return "datetime.timedelta";
            default:
                return "object (in Java a " + value.getClass().getName() + ")";
        }
    }

    private static String detail(Object value) {
        if (value instanceof Number || value instanceof Boolean) {
            String text = value.toString();
            return ": " + (text.length() > 60 ? text.substring(0, 60) + "..." : text);
        }
        return "";
    }
}
