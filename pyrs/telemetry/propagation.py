"""Propagate the current trace with the W3C ``traceparent`` and ``tracestate``."""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry import context as otel_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_propagator = TraceContextTextMapPropagator()
_enabled = False


def propagate() -> None:
    """Send the current trace across the bridges and to Spark executors; idempotent."""
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
    """Return the entries of the current trace; none before ``propagate``."""
    entries: dict[str, str] = {}
    if _enabled:
        _propagator.inject(entries)
    return entries


def extract(entries: Mapping[str, str]) -> None:
    """Make the span of the entries the current one."""
    if "traceparent" in entries:
        otel_context.attach(_propagator.extract(entries))
