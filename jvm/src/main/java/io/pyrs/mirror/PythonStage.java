package io.pyrs.mirror;

import io.pyrs.PeerReference;
import io.pyrs.invoke.HotPublishers;
import io.pyrs.invoke.Invocation;
import io.pyrs.invoke.SingleTypes;
import io.pyrs.link.session.Families;
import io.pyrs.link.session.Session;
import io.pyrs.link.session.StreamOptions;
import io.pyrs.value.Conversion;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.concurrent.Flow;
import org.reactivestreams.Publisher;

/**
 * A Python function from Publisher to Publisher, for {@code Flux.transform} and similar methods.
 *
 * <p>Each application is one call: Python receives the Java Publisher by reference, and returns a Python Publisher or a
 * Java Publisher. Elements travel on streams. If all elements of the Java Publisher have one box type out of
 * Integer, Short and Byte, integers in the result are converted to that type if they fit. An element type replaces this
 * conversion.
 */
public final class PythonStage extends PythonFunction {
    private final StreamOptions options;

    public PythonStage(Session session, PeerReference reference, Class<?> type, StreamOptions options) {
        super(session, reference, type);
        Method method = Invocation.singleMethod(type);
        if (method.getParameterCount() == 0 || method.getReturnType().isPrimitive()) {
            throw new IllegalArgumentException(
                    "a stage must take a Publisher and return one, as java.util.function.Function does; "
                            + type.getName() + " has " + method);
        }
        this.options = options;
    }

    @Override
    Object callPython(Method method, Object[] arguments) throws Throwable {
        StreamOptions resultOptions = options;
        long exported = 0;
        for (Object argument : arguments) {
            if (isPublisher(argument) && exported == 0 && session.handles().peerReference(argument) == null) {
                exported = session.handles().own(argument);
                resultOptions = session.recordBoxes(argument, options);
            }
        }
        try {
            Object[] sent = arguments;
            if (exported != 0 && arguments.length == 1 && HotPublishers.isHot(arguments[0])) {
                sent = new Object[] {arguments[0], true};
            }
            return fit(sendCall(sent, Conversion.AUTO), resultOptions, resultType(method, arguments[0]));
        } finally {
            if (exported != 0) {
                session.handles().disown(exported);
            }
        }
    }

    private static boolean isPublisher(Object value) {
        return value instanceof Publisher || value instanceof Flow.Publisher;
    }

    /** Returns the type of the result. An interface such as Function names none: the result has the argument's family. */
    private static Class<?> resultType(Method method, Object argument) {
        Class<?> declared = method.getReturnType();
        if (declared != Object.class || argument instanceof Publisher == argument instanceof Flow.Publisher) {
            return declared;
        }
        return argument instanceof Publisher ? Publisher.class : Flow.Publisher.class;
    }

    private static Object fit(Object answer, StreamOptions options, Class<?> wanted) throws Throwable {
        Object result = SingleTypes.toPublisher(answer);
        if (result instanceof PythonProcessor) {
            result = ((PythonProcessor) result).publisher();
        }
        if (result instanceof PythonPublisher) {
            result = ((PythonPublisher) result).with(options);
        }
        if (!isPublisher(result)) {
            throw new IllegalStateException("a stage must return a Publisher; Python returned "
                    + (result == null ? "None" : "a " + result.getClass().getName()));
        }
        if (wanted.isInstance(result)) {
            return result;
        }
        return adapt(result, wanted);
    }

    /**
     * Converts a Publisher to the other family, or with the static method from or fromPublisher of the wanted class.
     */
    @SuppressWarnings("unchecked")
    private static Object adapt(Object publisher, Class<?> wanted) throws ReflectiveOperationException {
        if (wanted == Publisher.class) {
            return Families.toReactiveStreams((Flow.Publisher<Object>) publisher);
        } else if (wanted == Flow.Publisher.class) {
            return Families.toFlow((Publisher<Object>) publisher);
        }
        for (Method method : wanted.getMethods()) {
            if (Modifier.isStatic(method.getModifiers())
                    && (method.getName().equals("from") || method.getName().equals("fromPublisher"))
                    && method.getParameterCount() == 1
                    && method.getParameterTypes()[0].isInstance(publisher)
                    && wanted.isAssignableFrom(method.getReturnType())) {
                return method.invoke(null, publisher);
            }
        }
        throw new ClassCastException("a " + publisher.getClass().getName() + " is not a " + wanted.getName()
                + ", which has no static method from or fromPublisher for it");
    }
}
