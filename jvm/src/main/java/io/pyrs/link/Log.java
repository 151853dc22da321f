package io.pyrs.link;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/** The one logger of the Java half: System.Logger "io.pyrs", which goes wherever the application's logging goes. */
public final class Log {
    private static final Logger LOGGER = System.getLogger("io.pyrs");

    private Log() {}

    /** Something that the user should know of: a dropped error, a broken rule. */
    public static void warning(String message, Throwable error) {
        log(Level.WARNING, message, error);
    }

    /** The same, with nothing thrown. */
    public static void warning(String message) {
        LOGGER.log(Level.WARNING, message);
    }

    /** What helps in tracing a fault only. */
    public static void debug(String message, Throwable error) {
        log(Level.DEBUG, message, error);
    }

    /** A handler calls the error's own methods, which may throw anything: a message that cannot be logged fails nobody. */
    private static void log(Level level, String message, Throwable error) {
        try {
            LOGGER.log(level, message, error);
        } catch (Throwable broken) {
            LOGGER.log(level, message + " (" + error.getClass().getName() + ", which cannot be printed)");
        }
    }
}
