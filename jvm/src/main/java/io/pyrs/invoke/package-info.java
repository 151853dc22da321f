/**
 * Reflection: finds classes, methods and constructors by name, selects overloads for Python arguments, and detects hot
 * Publishers. It knows nothing of the link.
 */
package io.pyrs.invoke;
