"""Propagate the current trace as the W3C entries ``traceparent`` and ``tracestate``."""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry import context as otel_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_propagator = TraceContextTextMapPropagator()
_enabled = False


def propagate() -> None:
    """Send the current trace with subscriptions across the bridges, and with functions to executors. Idempotent."""
    global _enabled
    if _enabled:
        return
    _enabled = True
    try:
        from pyrs.jvm.context import add_carrier
    except ImportError:  # without msgpack there is no bridge
        return
    add_carrier(inject, extract)


def inject() -> dict[str, str]:
    """Return the entries of the current trace; an empty dict before ``propagate``, or without a current span."""
    entries: dict[str, str] = {}
    if _enabled:
        _propagator.inject(entries)
    return entries


def extract(entries: Mapping[str, str]) -> None:
    """Make the span of the entries the current one."""
    if "traceparent" in entries:
        otel_context.attach(_propagator.extract(entries))
