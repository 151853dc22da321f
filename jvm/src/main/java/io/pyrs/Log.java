package io.pyrs;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/** The logger of the Java side: System.Logger "io.pyrs", which the application configures. */
public final class Log {
    private static final Logger LOGGER = System.getLogger("io.pyrs");

    private Log() {}

    /** Logs an event that the user should know about, such as a dropped error or a violated rule. */
    public static void warning(String message, Throwable error) {
        log(Level.WARNING, message, error);
    }

    /** Logs an event without an error. */
    public static void warning(String message) {
        log(Level.WARNING, message, null);
    }

    /** Logs a detail for debugging. */
    public static void debug(String message, Throwable error) {
        log(Level.DEBUG, message, error);
    }

    /**
     * Logs without throwing: a log handler of the application may throw, and a stream that logs must still end. A
     * handler also calls methods of the error, if there is one, and an overridden method may throw anything.
     */
    private static void log(Level level, String message, Throwable error) {
        try {
            LOGGER.log(level, message, error);
        } catch (Throwable broken) {
            if (error != null) { // a broken handler cannot report its own error
                log(level, message + " (" + error.getClass().getName() + ", which cannot be printed)", null);
            }
        }
    }
}
