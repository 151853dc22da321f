/**
 * Reflection: finds methods and constructors by name, selects overloads for Python arguments, detects hot Publishers,
 * and converts types of one element, such as a Uni, to Publishers. It does not depend on the link.
 */
package io.pyrs.invoke;
