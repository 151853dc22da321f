package io.pyrs.invoke;

import io.pyrs.PeerProxy;
import io.pyrs.value.ElementType;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.lang.reflect.Executable;
import java.lang.reflect.Modifier;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;

/** Selects the method or constructor that fits given arguments best, and converts the arguments for it. */
final class Arguments {
    private static final int NONE = Integer.MAX_VALUE;
    private static final int SPREAD = 1_000;

    private Arguments() {}

    /** Returns the candidate nearest to the arguments; of several, the most specific one; null if none fits. */
    static <E extends Executable> E best(Iterable<E> candidates, Object[] arguments) {
        E best = null;
        int bestScore = NONE;
        for (E each : candidates) {
            int score = score(each, arguments);
            if (score < bestScore || score != NONE && score == bestScore && isNarrower(each, best, arguments.length)) {
                best = each;
                bestScore = score;
            }
        }
        return best;
    }

    /** Returns whether the arguments fit the candidate. */
    static boolean fits(Executable candidate, Object[] arguments) {
        return score(candidate, arguments) != NONE;
    }

    /** Converts the arguments to the types of the parameters; variable arguments go into one array. */
    static Object[] convert(Executable chosen, Object[] arguments) {
        Class<?>[] types = chosen.getParameterTypes();
        boolean spread = isSpread(chosen, arguments);
        Object[] converted = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            if (spread && i == types.length - 1) {
                converted[i] = array(Arrays.asList(arguments).subList(i, arguments.length), types[i]);
            } else {
                converted[i] = convert(arguments[i], types[i]);
            }
        }
        return converted;
    }

    /** Lists the Python types of the arguments, for messages. */
    static String describe(Object[] arguments) {
        return Arrays.stream(arguments).map(Arguments::describe).collect(Collectors.joining(", ", "(", ")"));
    }

    private static String describe(Object argument) {
        if (argument == null) {
            return "None";
        }
        if (argument instanceof PeerProxy) {
            return "a Python object";
        }
        if (argument instanceof BigInteger) {
            return "int beyond 64 bits";
        }
        boolean isLong = argument instanceof Long && ((Long) argument).intValue() != (Long) argument;
        return isLong ? "int beyond 32 bits" : ElementType.pythonName(argument);
    }

    /** Suggests a remedy for an argument that no Java method accepts, for messages. */
    static String hint(Object[] arguments) {
        return Arrays.stream(arguments).anyMatch(each -> each instanceof PeerProxy)
                ? " (to_jvm_callable converts a Python function to an object of a Java interface)"
                : "";
    }

    /** Lists the parameters of the candidates, for messages. */
    static String describe(List<? extends Executable> candidates) {
        return candidates.stream()
                .map(Arguments::parameters)
                .distinct()
                .sorted()
                .collect(Collectors.joining(", "));
    }

    private static String parameters(Executable candidate) {
        String types = Arrays.stream(candidate.getParameterTypes())
                .map(Class::getTypeName)
                .collect(Collectors.joining(", ", "(", ")"));
        return candidate.isVarArgs() ? types.substring(0, types.length() - 3) + "...)" : types; // replaces "[])"
    }

    private static boolean isSpread(Executable candidate, Object[] arguments) {
        if (!candidate.isVarArgs()) {
            return false;
        }
        int count = candidate.getParameterCount();
        Object last = arguments.length == count ? arguments[count - 1] : null;
        // As in Java, an array may contain all variable arguments, but a list is one argument.
        return arguments.length != count || last == null || !candidate.getParameterTypes()[count - 1].isInstance(last);
    }

    private static int score(Executable candidate, Object[] arguments) {
        int count = candidate.getParameterCount();
        boolean spread = isSpread(candidate, arguments);
        if (spread ? arguments.length < count - 1 : arguments.length != count) {
            return NONE;
        }
        int sum = spread ? SPREAD : 0;
        for (int i = 0; i < arguments.length; i++) {
            int distance = distance(arguments[i], parameter(candidate, i, spread));
            if (distance == NONE) {
                return NONE;
            }
            sum += distance;
        }
        return sum;
    }

    private static Class<?> parameter(Executable candidate, int at, boolean spread) {
        Class<?>[] types = candidate.getParameterTypes();
        return spread && at >= types.length - 1 ? types[types.length - 1].getComponentType() : types[at];
    }

    private static boolean isNarrower(Executable one, Executable other, int count) {
        boolean differs = false;
        for (int i = 0; i < count; i++) {
            Class<?> type = parameter(one, i, one.isVarArgs() && one.getParameterCount() != count);
            Class<?> wider = parameter(other, i, other.isVarArgs() && other.getParameterCount() != count);
            if (!wider.isAssignableFrom(type)) {
                return false;
            }
            differs |= wider != type;
        }
        return differs;
    }

    /** Returns the distance of an argument from a parameter: 0 for its own type, {@link #NONE} if it does not fit. */
    private static int distance(Object argument, Class<?> type) {
        if (argument == null) {
            return type.isPrimitive() ? NONE : 1;
        }
        Class<?> wanted = boxOf(type);
        if (argument.getClass() == wanted) {
            return unboxing(argument, type);
        }
        if (wanted.isInstance(argument)) {
            return wanted == Object.class ? 50 : 10;
        }
        if (convert(argument, type) == argument) {
            return NONE;
        }
        if (argument instanceof Collection) {
            return 60
                    + ((Collection<?>) argument)
                            .stream()
                                    .mapToInt(each -> distance(each, type.getComponentType()))
                                    .max()
                                    .orElse(0);
        }
        return argument instanceof String ? 5 : numberDistance(wanted) + unboxing(argument, type);
    }

    /**
     * Returns the distance that a primitive parameter adds if the user chose a box type: {@code List.remove(Object)},
     * not {@code List.remove(int)}, receives an {@code Integer}. Long, Double and Boolean add nothing, since Python
     * numbers arrive as these types without a choice of the user.
     */
    private static int unboxing(Object argument, Class<?> type) {
        boolean plain = argument instanceof Long || argument instanceof Double || argument instanceof Boolean;
        return type.isPrimitive() && !plain ? 51 : 0;
    }

    /** Returns the rank of a type for an integer: integral types, floating-point types, BigInteger, BigDecimal. */
    private static int numberDistance(Class<?> wanted) {
        List<Class<?>> nearest = List.of(
                Long.class,
                Integer.class,
                Short.class,
                Byte.class,
                Double.class,
                Float.class,
                BigInteger.class,
                BigDecimal.class);
        return 1 + nearest.indexOf(wanted);
    }

    /** Converts the argument to the type of a parameter; returns the argument if that is unnecessary or impossible. */
    private static Object convert(Object argument, Class<?> type) {
        Class<?> wanted = boxOf(type);
        if (wanted.isInstance(argument)) {
            return argument;
        }
        if (argument instanceof String && wanted == Character.class && ((String) argument).length() == 1) {
            return ((String) argument).charAt(0);
        }
        if (argument instanceof Collection && type.isArray()) {
            return ((Collection<?>) argument).stream().allMatch(each -> distance(each, type.getComponentType()) != NONE)
                    ? array((Collection<?>) argument, type)
                    : argument;
        }
        return argument instanceof Number ? number((Number) argument, wanted) : argument;
    }

    private static Object array(Collection<?> content, Class<?> type) {
        Object array = Array.newInstance(type.getComponentType(), content.size());
        int at = 0;
        for (Object each : content) {
            Array.set(array, at++, convert(each, type.getComponentType()));
        }
        return array;
    }

    /** Converts a number to another box. As in Java, only a conversion to double or float may round. */
    private static Object number(Number number, Class<?> wanted) {
        boolean whole = number instanceof Long
                || number instanceof Integer
                || number instanceof Short
                || number instanceof Byte;
        long value = number.longValue();
        if (wanted == Double.class) {
            return whole || number instanceof Float ? (Object) number.doubleValue() : number;
        } else if (wanted == Float.class) {
            boolean lost = Float.isInfinite(number.floatValue()) && !Double.isInfinite(number.doubleValue());
            return !lost && (whole || number instanceof Double) ? (Object) number.floatValue() : number;
        } else if (!whole) {
            return number;
        } else if (wanted == BigInteger.class) {
            return BigInteger.valueOf(value);
        } else if (wanted == BigDecimal.class) {
            return BigDecimal.valueOf(value);
        }
        Object narrowed = ElementType.narrow(value, wanted);
        return narrowed == null ? number : narrowed;
    }

    private static Class<?> boxOf(Class<?> type) {
        return type.isPrimitive() ? MethodType.methodType(type).wrap().returnType() : type;
    }

    /** Returns whether the class is public and exported. */
    static boolean isPublic(Class<?> type) {
        return Modifier.isPublic(type.getModifiers()) && type.getModule().isExported(type.getPackageName());
    }
}
