package io.pyrs;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;

/** The limits of the bridge, from the file that Python and Java read: {@code pyrs/jvm/limits.properties}. */
public final class Limits {
    private static final Properties LIMITS = new Properties();

    static {
        try (InputStream file = Limits.class.getResourceAsStream("limits.properties")) {
            LIMITS.load(file);
        } catch (IOException broken) {
            throw new ExceptionInInitializerError(broken);
        }
    }

    private Limits() {}

    public static int of(String name) {
        return Integer.parseInt(LIMITS.getProperty(name));
    }
}
