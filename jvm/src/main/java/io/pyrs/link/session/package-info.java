/**
 * The state of a link without I/O: streams and their flow control, handle tables, calls, commands, and the outbox.
 * Tests replay the conversations of {@code tests/vectors} on it.
 */
package io.pyrs.link.session;
