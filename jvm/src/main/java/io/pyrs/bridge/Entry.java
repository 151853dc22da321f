package io.pyrs.bridge;

import java.util.Map;

/** The entry point for Python, which creates it through its gateway to check the version and open a {@link Bridge}. */
public final class Entry {
    /** Returns the version of this jar, which must equal that of the Python package. */
    public String version() {
        String version = Entry.class.getPackage().getImplementationVersion();
        return version == null ? "unknown" : version;
    }

    /**
     * Opens a bridge that listens on a port of 127.0.0.1 for a connection that proves the token.
     *
     * @param token the one-time secret
     * @param options "max_prefetch", "max_threads", "call_timeout_ms" and "name", all optional
     */
    public Bridge open(byte[] token, Map<?, ?> options) throws Exception {
        ClassLoader loader = loader();
        // The bridge's threads inherit the context class loader of this thread.
        return IdempotentCalls.inContext(loader, () -> new Bridge(token, options, loader));
    }

    /** Returns the context class loader if this class is visible to it, else the loader of this class. */
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
