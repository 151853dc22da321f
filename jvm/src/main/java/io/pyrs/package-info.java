/**
 * The public types of the jar, and the base of all other packages: exceptions of Python and of the link, {@link
 * io.pyrs.PyRef}, and the identity of Python objects.
 *
 * <p>A package imports only packages that follow it in this order: bridge, mirror, link.connection, link.session,
 * link.protocol and invoke, value, and this package.
 */
package io.pyrs;
