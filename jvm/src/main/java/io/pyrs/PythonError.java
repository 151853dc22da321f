package io.pyrs;

import java.io.Serializable;
import java.util.Objects;

/**
 * A Python exception that crossed the link. Its stack trace contains the Python frames, innermost first. Its cause is
 * the cause of the Python exception.
 *
 * <p>The implementations differ in their Java superclass: a ValueError is an IllegalArgumentException (rule 3.9), a
 * NullSignal is a NullPointerException (rules 1.9, 2.13). They record no Java frames: the ErrorCodec sets the Python
 * frames as the stack trace, and the cause.
 */
public interface PythonError {
    /** Returns the class name, message and traceback of the exception. */
    Details details();

    /** Returns the qualified class name, such as "json.decoder.JSONDecodeError"; a built-in has no module prefix. */
    default String pythonType() {
        return details().type;
    }

    /** Returns the message, {@code str(exception)} in Python, or null. */
    default String pythonMessage() {
        return details().message;
    }

    /** Returns the traceback as Python formats it, or null. */
    default String pythonTraceback() {
        return details().traceback;
    }

    /** The data of an exception, with the number that identifies the original in Python. */
    final class Details implements Serializable {
        private static final long serialVersionUID = 1L;

        final String type;
        final String message;
        final String traceback;
        private final transient Object owner;
        private final long id;

        /**
         * Creates the data of one exception.
         *
         * @param owner identifies the peer that has the original
         * @param id the number of the original at that peer
         */
        public Details(String type, String message, String traceback, Object owner, long id) {
            this.type = Objects.requireNonNull(type);
            this.message = message;
            this.traceback = traceback;
            this.owner = owner;
            this.id = id;
        }

        /** Returns the number of the original at {@code peer}, or 0 if another peer sent the exception. */
        public long idAt(Object peer) {
            return owner == peer ? id : 0;
        }

        @Override
        public String toString() {
            return message == null || message.isEmpty() ? type : type + ": " + message;
        }
    }
}
