package io.pyrs.mirror;

import io.pyrs.link.Families;
import io.pyrs.link.Invocation;
import io.pyrs.link.Reference;
import io.pyrs.link.Session;
import io.pyrs.link.StreamOptions;
import io.pyrs.value.Conversion;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.concurrent.Flow;
import org.reactivestreams.Publisher;

/**
 * A Python stage as a function from Publisher to Publisher, for {@code Flux.transform} and its like.
 *
 * <p>It is called once for each use: Python gets the Java Publisher by reference and answers with its own, or with the Java Publisher itself,
 * which comes back as the same object. Elements do not take this way. Where all integers that went in were of one small box (Integer, Short, Byte),
 * those that come out leave in the same, if they fit and no element type was given.
 */
public final class PythonStage extends PythonFunction {
    private final StreamOptions options;

    private PythonStage(Session session, Reference reference, Class<?> type, StreamOptions options) {
        super(session, reference, type);
        Method method = Invocation.singleMethod(type);
        if (method.getParameterCount() == 0 || method.getReturnType().isPrimitive()) {
            throw new IllegalArgumentException("a stage has to take a Publisher and give one, as java.util.function.Function does; "
                    + type.getName() + " has " + method);
        }
        this.options = options;
    }

    /** An object of the interface {@code type}. */
    public static Object create(
            Session session, Reference reference, Class<?> type, StreamOptions options, ClassLoader loader) {
        return new PythonStage(session, reference, type, options).proxy(loader);
    }

    @Override
    Object ask(Method method, Object[] arguments) throws Throwable {
        StreamOptions noted = options;
        long held = 0;
        for (Object argument : arguments) {
            if (argument != null && isPublisher(argument) && held == 0 && session.home(argument) == 0) {
                held = session.own(argument);
                noted = session.noteBoxes(argument, options);
            }
        }
        try {
            return fit(callPython(arguments, Conversion.AUTO), noted, method.getReturnType());
        } finally {
            if (held != 0) {
                session.disown(held);
            }
        }
    }

    private static boolean isPublisher(Object value) {
        int kind = Families.kindOf(value);
        return kind == 1 || kind == 3;
    }

    private static Object fit(Object answer, StreamOptions options, Class<?> wanted) throws ReflectiveOperationException {
        Object result = answer;
        if (result instanceof PythonProcessor) {
            result = ((PythonProcessor) result).publisher();
        }
        if (result instanceof PythonPublisher) {
            result = ((PythonPublisher) result).with(options);
        }
        if (result == null || !isPublisher(result)) {
            throw new IllegalStateException("a stage must return a Publisher; Python returned "
                    + (result == null ? "None" : "a " + result.getClass().getName()));
        }
        if (wanted.isInstance(result)) {
            return result;
        }
        return adapt(result, wanted);
    }

    /** A Publisher as a type that can be made of one: the other family, or a class with a static from or fromPublisher. */
    @SuppressWarnings("unchecked")
    private static Object adapt(Object publisher, Class<?> wanted) throws ReflectiveOperationException {
        if (wanted == Publisher.class) {
            return FamilyAdapter.toReactiveStreams((Flow.Publisher<Object>) publisher);
        } else if (wanted == Flow.Publisher.class) {
            return FamilyAdapter.toFlow((Publisher<Object>) publisher);
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
        throw new ClassCastException("a " + publisher.getClass().getName() + " is no " + wanted.getName()
                + ", and there is no way known to make one of it");
    }
}
