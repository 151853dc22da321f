package io.pyrs.link;

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

/** Which of several methods or constructors fits given arguments best, and the arguments as it wants them. */
final class Arguments {
    private static final int NONE = Integer.MAX_VALUE;
    private static final int SPREAD = 1_000;

    private Arguments() {}

    /** The candidate that is nearest to the arguments, and of equally near ones the most specific; null if none fits. */
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

    /** Whether the arguments fit at all. */
    static boolean fits(Executable candidate, Object[] arguments) {
        return score(candidate, arguments) != NONE;
    }

    /** The arguments as the parameters want them: boxes of the right kind, arrays, variable arguments in one array. */
    static Object[] fitted(Executable chosen, Object[] arguments) {
        Class<?>[] types = chosen.getParameterTypes();
        boolean spread = isSpread(chosen, arguments);
        Object[] fitted = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            if (spread && i == types.length - 1) {
                fitted[i] = array(Arrays.asList(arguments).subList(i, arguments.length), types[i]);
            } else {
                fitted[i] = fit(arguments[i], types[i]);
            }
        }
        return fitted;
    }

    /** What the arguments are, in Python's words: for messages. */
    static String described(Object[] arguments) {
        return Arrays.stream(arguments)
                .map(each -> each == null ? "None" : each instanceof StandIn ? "an object of Python's" : ElementType.pythonName(each))
                .collect(Collectors.joining(", ", "(", ")"));
    }

    /** What to do about an argument that no method of Java's can have meant: for messages. */
    static String hint(Object[] arguments) {
        return Arrays.stream(arguments).anyMatch(each -> each instanceof StandIn)
                ? " (of a Python function to_jvm_callable makes an object of a Java interface)"
                : "";
    }

    /** The parameters of the candidates: for messages. */
    static String described(List<? extends Executable> candidates) {
        return candidates.stream()
                .map(each -> Arrays.stream(each.getParameterTypes()).map(Class::getTypeName).collect(Collectors.joining(", ", "(", ")")))
                .distinct()
                .sorted()
                .collect(Collectors.joining(", "));
    }

    private static boolean isSpread(Executable candidate, Object[] arguments) {
        if (!candidate.isVarArgs()) {
            return false;
        }
        int count = candidate.getParameterCount();
        Object last = arguments.length == count ? arguments[count - 1] : null;
        // A list is one argument here, as it is in Java; an array may stand for all of them.
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

    /** How far an argument is from a parameter: 0 its own type, {@link #NONE} if it does not fit. */
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
        if (fit(argument, type) == argument) {
            return NONE;
        }
        if (argument instanceof Collection) {
            return 60 + ((Collection<?>) argument).stream().mapToInt(each -> distance(each, type.getComponentType())).max().orElse(0);
        }
        return argument instanceof String ? 5 : numberDistance(wanted) + unboxing(argument, type);
    }

    /**
     * As in Java a box is an object before it is a primitive: {@code List.remove(Object)} takes an {@code Integer}. It was made
     * on purpose, since numbers of Python's come as Long, Double and Boolean, which say nothing about what is meant.
     */
    private static int unboxing(Object argument, Class<?> type) {
        boolean plain = argument instanceof Long || argument instanceof Double || argument instanceof Boolean;
        return type.isPrimitive() && !plain ? 51 : 0;
    }

    /** A whole number is an int before it is a double, and a double before it is anything else. */
    private static int numberDistance(Class<?> wanted) {
        List<Class<?>> nearest = List.of(
                Long.class, Integer.class, Short.class, Byte.class, Double.class, Float.class, BigInteger.class, BigDecimal.class);
        return 1 + nearest.indexOf(wanted);
    }

    /** The argument as a parameter wants it; the argument itself where there is nothing to be done, or to be had. */
    private static Object fit(Object argument, Class<?> type) {
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
            Array.set(array, at++, fit(each, type.getComponentType()));
        }
        return array;
    }

    /** Numbers become the box that the parameter wants, where nothing is lost but a double's last digits. */
    private static Object number(Number number, Class<?> wanted) {
        boolean whole = number instanceof Long || number instanceof Integer || number instanceof Short || number instanceof Byte;
        long value = number.longValue();
        if (wanted == Double.class) {
            return whole || number instanceof Float ? (Object) number.doubleValue() : number;
        } else if (wanted == Float.class) {
            boolean lost = Float.isInfinite(number.floatValue()) && !Double.isInfinite(number.doubleValue());
            return !lost && (whole || number instanceof Double) ? (Object) number.floatValue() : number;
        } else if (!whole) {
            return number;
        } else if (wanted == Long.class) {
            return value;
        } else if (wanted == Integer.class && (int) value == value) {
            return (int) value;
        } else if (wanted == Short.class && (short) value == value) {
            return (short) value;
        } else if (wanted == Byte.class && (byte) value == value) {
            return (byte) value;
        } else if (wanted == BigInteger.class) {
            return BigInteger.valueOf(value);
        } else if (wanted == BigDecimal.class) {
            return BigDecimal.valueOf(value);
        }
        return number;
    }

    private static Class<?> boxOf(Class<?> type) {
        return type.isPrimitive() ? MethodType.methodType(type).wrap().returnType() : type;
    }

    /** Whether everybody may name the class. */
    static boolean isPublic(Class<?> type) {
        return Modifier.isPublic(type.getModifiers()) && type.getModule().isExported(type.getPackageName());
    }
}
