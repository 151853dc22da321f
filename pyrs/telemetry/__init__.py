"""Spans, metrics and traces of subscriptions with OpenTelemetry.

One trace crosses the bridge and Spark. ``instrument`` records every subscription of this process, and ``span`` is an
operator that names one. Needs ``opentelemetry-api``: ``pip install 'pyrs-streams[telemetry]'``. No other module of pyrs
imports this package, except in the tasks of a traced Spark job. A program that calls neither ``instrument`` nor
``span`` has no overhead.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TypeVar

try:
    import opentelemetry.trace as _trace  # noqa: F401  (imported here, where the error can name the extra to install)
except ImportError as _missing:
    raise ImportError(
        "pyrs.telemetry needs opentelemetry-api: pip install 'pyrs-streams[telemetry]'; exporting the spans needs "
        "opentelemetry-sdk"
    ) from _missing

from pyrs._core.hooks import observe_drops
from pyrs._core.observation import set_instrumentation
from pyrs._core.validation import checked_string
from pyrs.stream.stream import Stream
from pyrs.telemetry.meters import Meters
from pyrs.telemetry.propagation import propagate
from pyrs.telemetry.subscriptions import Observer, Span

__all__ = ["instrument", "span", "uninstrument"]

T = TypeVar("T")

_lock = Lock()
_meters: Meters | None = None


def instrument() -> None:
    """Record every later subscription of this process as a span and in metrics.

    The function is idempotent. A subscription begins with ``subscribe``, a terminal operation, an iteration, or a
    Subscriber of the JVM. The inner streams of operators such as ``flat_map`` are part of the outer subscription. The
    name of the span is the name of the last ``checkpoint``, ``log`` or ``metrics`` that has one, else the last operator
    with its file and line, such as ``map at orders.py:12``. A stream with ``span`` has that span only. Direct
    subscriptions to a ``SubmissionPublisher`` are not recorded.

    The current trace crosses the bridges. If Python subscribes to a stream of the JVM, the stream receives
    ``traceparent``, and ``tracestate`` if there is one, in Reactor's ``Context``. If Reactor subscribes to a Python
    stream with a ``traceparent`` in its ``Context``, the subscription's span is a child of Reactor's span.
    ``pyrs.spark`` sends both entries with the functions that run on executors.

    Examples:
        >>> from pyrs import telemetry
        >>> telemetry.instrument()
        >>> telemetry.uninstrument()
    """
    global _meters
    with _lock:
        _meters = meters = Meters() if _meters is None else _meters
        Span.meters = meters
        set_instrumentation(Observer(meters))
        observe_drops(meters.dropped)
        propagate()


def uninstrument() -> None:
    """End the effect of ``instrument`` for later subscriptions.

    Live subscriptions are recorded until they end. The trace still crosses the bridges.

    Examples:
        >>> from pyrs import telemetry
        >>> telemetry.uninstrument()
    """
    with _lock:
        Span.meters = None
        set_instrumentation(None)
        observe_drops(None)


def span(name: str, **attributes: str | int | float | bool) -> Callable[[Stream[T]], Stream[T]]:
    """Return a function for ``transform`` that records each subscription as a span.

    The span begins with ``subscribe`` and ends with the terminal signal or the cancel. The operators upstream of
    ``span`` run in its context, so that their spans, and those of a JVM behind the bridge, are children of the span.
    The parent is the current span of the ``subscribe`` call. The attributes are ``pyrs.elements``, ``pyrs.requested``
    (-1 for unbounded demand) and ``pyrs.outcome``: ``completed``, ``failed`` or ``cancelled``. An error is recorded as
    an exception event. After ``instrument``, the subscription is counted in the metrics, too.

    Forwards demand unchanged. Buffers nothing.

    Args:
        name: the name of the span.
        attributes: further attributes of the span.

    Raises:
        TypeError: ``name`` is not a string.

    Examples:
        >>> import pyrs
        >>> from pyrs import telemetry
        >>> pyrs.just(1, 2).transform(telemetry.span("numbers", source="example")).collect()
        [1, 2]
    """
    checked_string(name, "name")
    return lambda stream: Stream(Span(stream.source, name, attributes))
