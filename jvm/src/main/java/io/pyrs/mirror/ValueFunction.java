package io.pyrs.mirror;

import io.pyrs.invoke.Invocation;
import io.pyrs.value.Conversion;
import io.pyrs.value.ValueCopy;
import java.lang.reflect.Method;

/**
 * A Java function that returns its first argument as plain values, without a call to Python. It serves callbacks whose
 * argument is valid only during the call, such as an R2DBC row or a pooled buffer.
 */
public final class ValueFunction extends FunctionalInterfaceHandler {
    private final Conversion conversion;

    public ValueFunction(Class<?> type, Conversion conversion) {
        super(type);
        Method method = Invocation.singleMethod(type);
        if (method.getParameterCount() == 0 || method.getReturnType() == void.class) {
            throw new IllegalArgumentException(
                    "a value function must take the value and return a result, as java.util.function.Function and"
                            + " BiFunction do; " + type.getName() + " has " + method);
        }
        this.conversion = conversion;
    }

    @Override
    Object call(Method method, Object[] arguments) {
        return ValueCopy.of(arguments[0], conversion);
    }

    @Override
    public String toString() {
        return "ValueFunction[" + type.getName() + "]";
    }
}
