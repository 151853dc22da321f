package io.pyrs.mirror;

import io.pyrs.link.Reference;
import io.pyrs.link.Session;
import io.pyrs.value.Conversion;
import io.pyrs.value.ElementType;
import java.lang.reflect.Method;
import java.util.Map;

/**
 * A Python function as an object of a single-method interface. Each use is a call over the link (tens of microseconds, with a deadline): for what happens
 * now and then, not for every element of a stream. What Python raises is thrown.
 */
public final class PythonCallable extends PythonFunction {
    private final Conversion conversion;
    private final String resultType;
    private final ClassLoader loader;

    private PythonCallable(
            Session session, Reference reference, Class<?> type, Map<?, ?> options, ClassLoader loader) {
        super(session, reference, type);
        Object wish = options.get("element_type");
        this.conversion = Conversion.of(options.get("convert"));
        this.resultType = wish == null ? null : wish.toString();
        this.loader = loader;
    }

    /**
     * An object of the interface {@code type}.
     *
     * @param options "element_type", the class that the result is to be (what the method says without it), and "convert" for its arguments
     */
    public static Object create(
            Session session, Reference reference, Class<?> type, Map<?, ?> options, ClassLoader loader) {
        return new PythonCallable(session, reference, type, options, loader).proxy(loader);
    }

    @Override
    Object ask(Method method, Object[] arguments) throws Throwable {
        Object result = callPython(arguments, conversion);
        Class<?> wanted = method.getReturnType();
        if (wanted == void.class) {
            return null;
        }
        if (result == null) {
            if (wanted.isPrimitive()) {
                throw new NullPointerException("Python returned None where " + method + " returns " + wanted);
            }
            return null;
        }
        if (resultType != null) {
            return ElementType.of(resultType, loader).from(result);
        }
        if (wanted == Object.class || wanted.isInstance(result)) {
            return result;
        }
        return ElementType.of(wanted.getTypeName(), loader).from(result);
    }
}
