package io.pyrs.value;

import io.pyrs.Log;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;

/**
 * A record batch that Python in the same process receives without a copy, through the Arrow C Data Interface.
 *
 * <p>A batch owns an exported {@code VectorSchemaRoot}: two C structs, which keep the buffers of the root alive. {@link
 * #moveTo} moves the structs to Python, whose RecordBatch then releases the buffers. If the batch never reaches Python,
 * for example after a cancel or at the end of the link, the handle table removes the batch and calls {@link #close},
 * which releases the buffers. The link carries a handle; no address is ever read from a frame.
 */
public final class SharedBatch implements AutoCloseable {
    /** The kind of a shared batch in a reference. Python never sends this kind, so no ObjectKind has this code. */
    public static final int KIND = 7;

    private final CDataInterface arrow;
    private final Object array;
    private final Object schema;
    private boolean closed;

    private SharedBatch(CDataInterface arrow, Object root) throws ReflectiveOperationException {
        this.arrow = arrow;
        Object vector = ((List<?>) arrow.fieldVectors.invoke(root)).get(0);
        Object allocator = arrow.allocator.invoke(vector);
        this.array = arrow.array.allocate.invoke(null, allocator);
        Object newSchema = null;
        try {
            newSchema = arrow.schema.allocate.invoke(null, allocator);
            arrow.export.invoke(null, allocator, root, null, array, newSchema);
        } catch (Throwable failed) {
            arrow.free(array, newSchema);
            throw failed;
        }
        this.schema = newSchema;
    }

    /** Returns a writer that shares roots if the link permits it, and otherwise writes them with {@code copying}. */
    static ValueWriter writerOf(Class<?> root, ValueWriter copying) {
        CDataInterface arrow = CDataInterface.of(root);
        if (arrow == null) {
            return copying;
        }
        return (encoder, value, out, depth) -> {
            if (!encoder.sharesMemory() || arrow.hasNoColumns(value)) {
                copying.write(encoder, value, out, depth);
                return;
            }
            SharedBatch batch;
            try {
                batch = new SharedBatch(arrow, value);
            } catch (ReflectiveOperationException e) {
                Throwable cause = e instanceof InvocationTargetException ? e.getCause() : e;
                throw ArrowRootWriter.failure(root, "shared", cause);
            }
            try {
                encoder.writeReference(batch, out);
            } catch (Throwable unsent) {
                batch.close();
                throw unsent;
            }
        };
    }

    /**
     * Moves the batch into two C structs of this process, whose owner must release them.
     *
     * @throws IllegalStateException if the batch was moved or closed before
     */
    public synchronized void moveTo(long arrayAddress, long schemaAddress) {
        if (closed) {
            throw new IllegalStateException("the record batch was received or released before");
        }
        try {
            arrow.array.move(array, arrayAddress);
            arrow.schema.move(schema, schemaAddress);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        } finally {
            close();
        }
    }

    /** Releases the batch, unless Python has received it. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            arrow.free(array, schema);
        }
    }

    /** Closes a value if it is a batch. Called with each value that the handle table removes. */
    public static void closeIfBatch(Object value) {
        if (value instanceof SharedBatch) {
            ((SharedBatch) value).close();
        }
    }

    /** The classes of arrow-c-data in the application's version. */
    private static final class CDataInterface {
        final StructType array;
        final StructType schema;
        final Method fieldVectors;
        final Method allocator;
        final Method export;
        private final Method release;
        private final Method close;

        private CDataInterface(Class<?> root) throws ReflectiveOperationException {
            ClassLoader loader = root.getClassLoader();
            Class<?> buffers = Class.forName("org.apache.arrow.memory.BufferAllocator", true, loader);
            Class<?> dictionaries =
                    Class.forName("org.apache.arrow.vector.dictionary.DictionaryProvider", true, loader);
            array = new StructType(Class.forName("org.apache.arrow.c.ArrowArray", true, loader), buffers);
            schema = new StructType(Class.forName("org.apache.arrow.c.ArrowSchema", true, loader), buffers);
            fieldVectors = root.getMethod("getFieldVectors");
            allocator = Class.forName("org.apache.arrow.vector.ValueVector", true, loader)
                    .getMethod("getAllocator");
            export = Class.forName("org.apache.arrow.c.Data", true, loader)
                    .getMethod("exportVectorSchemaRoot", buffers, root, dictionaries, array.type, schema.type);
            Class<?> struct = Class.forName("org.apache.arrow.c.BaseStruct", true, loader);
            release = struct.getMethod("release");
            close = struct.getMethod("close");
        }

        /** Returns the classes that belong to a class of roots, or null without arrow-c-data. */
        static CDataInterface of(Class<?> root) {
            try {
                return new CDataInterface(root);
            } catch (ReflectiveOperationException | LinkageError missing) {
                return null;
            }
        }

        boolean hasNoColumns(Object root) {
            try {
                return ((List<?>) fieldVectors.invoke(root)).isEmpty();
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }

        /**
         * Releases the content of the structs, unless it was moved, and frees the structs. An error is logged: it may
         * come from a listener of the allocator, and the caller may be the reader of the link.
         */
        void free(Object... structs) {
            for (Object struct : structs) {
                if (struct != null) {
                    free(release, struct);
                    free(close, struct);
                }
            }
        }

        private static void free(Method step, Object struct) {
            try {
                step.invoke(struct);
            } catch (ReflectiveOperationException e) {
                Log.warning("a record batch cannot be released", e);
            }
        }
    }

    /** The class of a C struct: ArrowArray or ArrowSchema. */
    private static final class StructType {
        final Class<?> type;
        final Method allocate;
        private final Method wrap;
        private final Method snapshot;
        private final Method save;
        private final Method markReleased;

        StructType(Class<?> type, Class<?> allocator) throws ReflectiveOperationException {
            this.type = type;
            allocate = type.getMethod("allocateNew", allocator);
            wrap = type.getMethod("wrap", long.class);
            snapshot = type.getMethod("snapshot");
            save = type.getMethod("save", snapshot.getReturnType());
            markReleased = type.getMethod("markReleased");
        }

        /** Moves the content of a struct to the struct at an address, as the interface defines it. */
        void move(Object struct, long address) throws ReflectiveOperationException {
            save.invoke(wrap.invoke(null, address), snapshot.invoke(struct));
            markReleased.invoke(struct);
        }
    }
}
