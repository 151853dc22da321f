package io.pyrs.value;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** Arrow's VectorSchemaRoot, found by reflection: the jar needs no Arrow, and takes whichever the driver has. */
final class ArrowRoots {
    private ArrowRoots() {}

    /** Writes a root as an IPC stream of one batch, or is null where Arrow's writer cannot be found. */
    static Form formOf(Class<?> root) {
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
                    // Not closed: there is nothing behind the stream to close, and the root belongs to its owner.
                    Object stream = constructor.newInstance(value, null, bytes);
                    start.invoke(stream);
                    writeBatch.invoke(stream);
                    end.invoke(stream);
                } catch (InvocationTargetException e) {
                    throw new ConversionException("a " + root.getName() + " cannot travel: " + e.getCause(), e.getCause());
                } catch (ReflectiveOperationException e) {
                    throw new IOException(e);
                }
                Scalars.extension(Extensions.ARROW, bytes.toByteArray(), out.packer);
            };
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }
}
