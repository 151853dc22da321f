/**
 * The control plane: the entry point that Python loads, and the bridge, whose methods Python calls through its gateway.
 * No other package imports this one.
 */
package io.pyrs.bridge;
