/**
 * Types that applications see, and the base of all other packages: the exceptions of Python and of the link, {@link
 * io.pyrs.PyRef}, and the identity of objects that live in Python.
 *
 * <p>Dependencies point one way: bridge, mirror, link.connection, link.session, link.protocol and invoke, value, and
 * this package. A package imports only packages that follow it.
 */
package io.pyrs;
