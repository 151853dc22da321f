/**
 * The control plane: the entry point that Python loads, and the bridge whose methods it calls through its gateway.
 * Nothing imports this package.
 */
package io.pyrs.bridge;
