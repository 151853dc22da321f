package io.pyrs.mirror;

import io.pyrs.PeerReference;
import io.pyrs.link.session.Session;
import io.pyrs.link.session.StreamOptions;
import io.pyrs.value.Conversion;
import io.pyrs.value.ElementType;
import java.lang.reflect.Method;
import java.util.Optional;

/**
 * A Python function as an object of an interface with a single abstract method.
 *
 * <p>Each invocation is a call over the link with a deadline, which takes about 100 microseconds: too slow for each
 * element of a stream. It throws the exception that the function raises, as a Java exception.
 */
public final class PythonCallable extends PythonFunction {
    private final Conversion conversion;
    private final ElementType resultType;
    private final ClassLoader loader;

    /**
     * Creates the handler of an object of the interface {@code type}.
     *
     * @param options the element type of the result (default: the method's return type), and the conversion of the
     *     arguments
     */
    public PythonCallable(
            Session session, PeerReference reference, Class<?> type, StreamOptions options, ClassLoader loader) {
        super(session, reference, type);
        this.conversion = options.conversion();
        this.resultType = options.elementType();
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
        if (resultType != ElementType.ANY) {
            return resultType.from(result);
        }
        if (wanted == Object.class || wanted.isInstance(result)) {
            return result;
        }
        return ElementType.of(wanted, loader).from(result);
    }
}
