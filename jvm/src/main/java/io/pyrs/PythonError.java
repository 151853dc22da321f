package io.pyrs;

import java.io.Serializable;
import java.util.Objects;

/**
 * A Python exception that crossed the link. Its Python frames are the stack trace, innermost first; the exception that
 * caused it is the cause.
 *
 * <p>The classes that implement it differ only in what else they are: a ValueError is also an IllegalArgumentException
 * (rule 3.9), the null signal also a NullPointerException (rules 1.9, 2.13).
 */
public interface PythonError {
    /** What is known of the exception. */
    Details details();

    /** The exception's qualified class name, such as "json.decoder.JSONDecodeError"; builtins go without a module. */
    default String pythonType() {
        return details().type;
    }

    /** What str() said of it, or null. */
    default String pythonMessage() {
        return details().message;
    }

    /** Python's own text of the traceback, or null. */
    default String pythonTraceback() {
        return details().traceback;
    }

    /** The exception as data, with what is needed to hand the original back to Python. */
    final class Details implements Serializable {
        private static final long serialVersionUID = 1L;

        final String type;
        final String message;
        final String traceback;
        private final transient Object owner;
        private final long id;

        /** Data of one exception; {@code id} is its number at the peer that {@code owner} stands for. */
        public Details(String type, String message, String traceback, Object owner, long id) {
            this.type = Objects.requireNonNull(type);
            this.message = message;
            this.traceback = traceback;
            this.owner = owner;
            this.id = id;
        }

        /** The number of the original at that peer, or 0 if it came from another. */
        public long idAt(Object peer) {
            return owner == peer ? id : 0;
        }

        @Override
        public String toString() {
            return message == null || message.isEmpty() ? type : type + ": " + message;
        }
    }
}
