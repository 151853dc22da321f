/**
 * Java objects that represent Python objects: Publishers, Subscribers, Processors and functions. A mirror validates
 * arguments, and opens streams or makes calls on a {@link io.pyrs.link.session.Session}; it holds no protocol state.
 */
package io.pyrs.mirror;
