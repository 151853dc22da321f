package io.pyrs.value;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** Writes Arrow's VectorSchemaRoot with the Arrow version of the application, by reflection. */
final class ArrowRootWriter {
    private ArrowRootWriter() {}

    /** Returns a writer of roots as IPC streams of one batch, or null without Arrow's stream writer. */
    static ValueWriter writerOf(Class<?> root) {
        try {
            ClassLoader loader = root.getClassLoader();
            Class<?> writer = Class.forName("org.apache.arrow.vector.ipc.ArrowStreamWriter", true, loader);
            Class<?> dictionaries =
                    Class.forName("org.apache.arrow.vector.dictionary.DictionaryProvider", true, loader);
            Constructor<?> constructor = writer.getConstructor(root, dictionaries, OutputStream.class);
            Method start = writer.getMethod("start");
            Method writeBatch = writer.getMethod("writeBatch");
            Method end = writer.getMethod("end");
            return (encoder, value, out, depth) -> {
                ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                try {
                    // The stream is not closed: it holds no resource, and the application closes the root.
                    Object stream = constructor.newInstance(value, null, bytes);
                    start.invoke(stream);
                    writeBatch.invoke(stream);
                    end.invoke(stream);
                } catch (InvocationTargetException e) {
                    throw failure(root, "converted", e.getCause());
                } catch (ReflectiveOperationException e) {
                    throw new IOException(e);
                }
                ScalarWriters.extension(ExtensionTypes.ARROW, bytes.toByteArray(), out.packer);
            };
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }

    /** Returns the error of a root that Arrow rejects. */
    static ConversionException failure(Class<?> root, String verb, Throwable cause) {
        // A root has no dictionary provider, so Arrow gets null, and throws this exception if it needs a dictionary.
        String advice = cause instanceof NullPointerException
                ? "; if it has dictionary-encoded vectors, decode them first, since a root has no dictionaries"
                : "";
        return new ConversionException("a " + root.getName() + " cannot be " + verb + ": " + cause + advice, cause);
    }
}
