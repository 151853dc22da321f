package io.pyrs.mirror;

import io.pyrs.PeerReference;
import io.pyrs.link.session.Session;
import io.pyrs.value.Conversion;
import io.pyrs.value.ElementType;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.Optional;

/**
 * A Python function as an object of an interface with a single abstract method.
 *
 * <p>Each invocation is a call over the link with a deadline, which takes about 100 microseconds: too slow for each
 * element of a stream. An exception raised in Python is thrown.
 */
public final class PythonCallable extends PythonFunction {
    private final Conversion conversion;
    private final String resultType;
    private final ClassLoader loader;

    /**
     * Creates the handler of an object of the interface {@code type}.
     *
     * @param options "element_type", the class of the result (default: the method's return type), and "convert", which
     *     applies to the arguments
     */
    public PythonCallable(
            Session session, PeerReference reference, Class<?> type, Map<?, ?> options, ClassLoader loader) {
        super(session, reference, type);
        Object elementType = options.get("element_type");
        this.conversion = Conversion.of(options.get("convert"));
        this.resultType = elementType == null ? null : elementType.toString();
        this.loader = loader;
    }

    @Override
    Object callPython(Method method, Object[] arguments) throws Throwable {
        Object result = sendCall(arguments, conversion);
        Class<?> wanted = method.getReturnType();
        if (wanted == void.class) {
            return null;
        }
        if (result == null) {
            if (wanted.isPrimitive()) {
                throw new NullPointerException("Python returned None, but " + method + " returns " + wanted);
            }
            return wanted == Optional.class ? Optional.empty() : null;
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
