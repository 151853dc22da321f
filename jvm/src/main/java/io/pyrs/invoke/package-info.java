/**
 * Reflection: finds methods and constructors by name, selects overloads for Python arguments, and detects hot
 * Publishers. It does not depend on the link.
 */
package io.pyrs.invoke;
