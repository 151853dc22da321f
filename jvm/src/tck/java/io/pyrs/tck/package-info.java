/**
 * The official test kit for Python objects: its verifications, whose hooks call Python, the proxies of Python objects,
 * and the sockets on which calls travel. Python loads {@link io.pyrs.tck.Referee} only.
 */
package io.pyrs.tck;
