/**
 * The I/O of a link: the listener, the socket, the reader and writer threads, and the worker pool. Only this package
 * opens sockets or starts threads.
 */
package io.pyrs.link.connection;
