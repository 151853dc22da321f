package io.pyrs;

import java.util.Map;

/** Where Python comes in, through the gateway that it has already: it asks for the version and opens a {@link Bridge}. */
public final class Entry {
    /** Needs nothing: whoever holds an instance may open bridges. */
    public Entry() {}

    /** The version of this jar, which must be the Python package's. */
    public String version() {
        String version = Entry.class.getPackage().getImplementationVersion();
        return version == null ? "unknown" : version;
    }

    /** The feature number of the running Java, such as 17. */
    public int javaVersion() {
        return Runtime.version().feature();
    }

    /**
     * Opens a bridge that waits on a port of 127.0.0.1 for the one who knows the token.
     *
     * @param token the one-time secret
     * @param options "max_prefetch", "max_threads", "call_timeout_ms" and "name", each of which may be absent
     */
    public Bridge open(byte[] token, Map<?, ?> options) throws Exception {
        ClassLoader loader = loader();
        return Answers.inContext(loader, () -> new Bridge(token, options, loader)); // the bridge's threads inherit it
    }

    /** The loader that sees the most: the caller's context where it sees our classes, else our own. */
    private static ClassLoader loader() {
        ClassLoader own = Entry.class.getClassLoader();
        ClassLoader context = Thread.currentThread().getContextClassLoader();
        for (ClassLoader each = context; each != null; each = each.getParent()) {
            if (each == own) {
                return context;
            }
        }
        return own;
    }
}
