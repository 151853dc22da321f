"""Continue the trace of the driver in tasks, if ``pyrs.telemetry`` is used."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import closing
from contextvars import copy_context
from typing import Any

from pyrs._core.observation import set_instrumentation


def current_trace() -> dict[str, str]:
    """Return the W3C trace context of the current span.

    The result is empty before ``pyrs.telemetry.propagate``.
    """
    propagation = sys.modules.get("pyrs.telemetry.propagation")
    return {} if propagation is None else propagation.inject()


def in_trace(entries: dict[str, str], iterator: Generator[Any, None, None]) -> Iterator[Any]:
    """Yield the batches of a task's iterator in the trace of the entries.

    The span of the entries is the current span. The subscriptions of the task are recorded. An executor without
    ``opentelemetry-api`` runs the task untraced.
    """
    with closing(iterator):
        try:
            from pyrs import telemetry
            from pyrs.telemetry.propagation import extract
        except ImportError:
            yield from iterator
            return
        before = set_instrumentation(None)
        telemetry.instrument()
        try:
            context = copy_context()
            context.run(extract, entries)
            while (batch := context.run(next, iterator, None)) is not None:
                yield batch
        finally:
            set_instrumentation(before)  # Spark may reuse the worker for an untraced query
