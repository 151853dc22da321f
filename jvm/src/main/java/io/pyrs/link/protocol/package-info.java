/**
 * The frames of docs/protocol.md without I/O or state of streams: types, encoding, decoding and the handshake.
 */
package io.pyrs.link.protocol;
