/**
 * The I/O of a link: the listener, the socket, the reader and writer threads, and the worker pool. No other package
 * opens a socket or starts a thread, except for the one thread of the Cleaner in link.session.
 */
package io.pyrs.link.connection;
