package io.pyrs.mirror;

import io.pyrs.value.Conversion;
import io.pyrs.value.ValueCopy;
import java.lang.reflect.Method;

/**
 * A Java function that gives its first argument as plain values, and never crosses to Python. For callbacks whose argument is valid only inside of them: a
 * row of R2DBC, a pooled buffer.
 */
public final class ValueFunction extends SingleMethod {
    private final Conversion conversion;

    private ValueFunction(Class<?> type, Conversion conversion) {
        super(type);
        this.conversion = conversion;
    }

    /** An object of the interface {@code type}. */
    public static Object create(Class<?> type, Conversion conversion, ClassLoader loader) {
        return new ValueFunction(type, conversion).proxy(loader);
    }

    @Override
    Object call(Method method, Object[] arguments) {
        if (arguments.length == 0) {
            throw new IllegalArgumentException(method + " is given nothing to make a value of");
        }
        return method.getReturnType() == void.class ? null : ValueCopy.of(arguments[0], conversion);
    }

    @Override
    public String toString() {
        return "ValueFunction[" + type.getName() + "]";
    }
}
