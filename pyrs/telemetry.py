"""Record subscriptions as OpenTelemetry spans, and continue traces across the bridge.

``instrument`` lets the trace of a subscription cross the bridge as W3C ``traceparent``, and ``span`` is an operator
that records each subscription as a span. Needs ``opentelemetry-api``: ``pip install 'pyrs-streams[telemetry]'``.
No other module of pyrs imports this one, so streams without a span have no overhead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import copy_context
from threading import Lock
from typing import Any, TypeVar

try:
    from opentelemetry import context as otel_context
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError as _missing:
    raise ImportError(
        "pyrs.telemetry needs opentelemetry-api: pip install 'pyrs-streams[telemetry]'; exporting the spans needs "
        "opentelemetry-sdk"
    ) from _missing

from pyrs._core.context import attach
from pyrs._core.demand import UNBOUNDED
from pyrs._core.downstream import checked_subscriber
from pyrs._core.hooks import discards_of
from pyrs._core.operator import Operator
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.stream.stream import Stream

__all__ = ["instrument", "span"]

T = TypeVar("T")

_propagator = TraceContextTextMapPropagator()
_lock = Lock()
_instrumented = False


def instrument() -> None:
    """Propagate the current trace across the bridges of this process. Idempotent.

    If Python subscribes to a stream of the JVM inside a span, the stream receives ``traceparent``, and ``tracestate``
    if there is one, in Reactor's ``Context``. If Reactor subscribes to a Python stream with a ``traceparent`` in its
    ``Context``, the stream runs inside that trace: its spans are children of Reactor's span.

    Examples:
        >>> from pyrs import telemetry
        >>> telemetry.instrument()
    """
    global _instrumented
    try:
        from pyrs.jvm.context import add_carrier
    except ImportError:  # without msgpack there is no bridge
        return
    with _lock:
        first, _instrumented = not _instrumented, True
    if first:
        add_carrier(_inject, _extract)


def span(name: str, **attributes: str | int | float | bool) -> Callable[[Stream[T]], Stream[T]]:
    """Return a function for ``transform`` that records each subscription as a span.

    The span begins with ``subscribe`` and ends with the terminal signal or the cancel. The operators before it run in
    its context, so that their spans, and those of a JVM behind the bridge, are its children. Its
    parent is the current span of the ``subscribe`` call. Its attributes are ``pyrs.elements``, ``pyrs.requested`` (-1
    for unbounded demand) and ``pyrs.outcome``: ``completed``, ``failed`` or ``cancelled``. An error is recorded as an
    exception event.

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
    given: object = name
    if not isinstance(given, str):
        raise TypeError(f"name must be a string, not {type(given).__name__}")
    return lambda stream: Stream(_Span(stream.source, name, attributes))


def _inject() -> Mapping[str, str]:
    entries: dict[str, str] = {}
    _propagator.inject(entries)
    return entries


def _extract(entries: Mapping[str, str]) -> None:
    if "traceparent" in entries:
        otel_context.attach(_propagator.extract(entries))


class _Span(Operator[T]):
    def __init__(self, source: Publisher[T], name: str, attributes: Mapping[str, Any]) -> None:
        super().__init__(source, f"span({name!r})")
        self.name = name
        self.attributes = attributes

    def subscribe(self, subscriber: Subscriber[T], /) -> None:
        subscriber = checked_subscriber(subscriber)
        recorded = trace.get_tracer("pyrs").start_span(self.name, attributes=dict(self.attributes))
        context = copy_context()
        context.run(otel_context.attach, trace.set_span_in_context(recorded))
        context.run(attach, self.source, _SpanSubscriber(subscriber, recorded))


class _SpanSubscriber(Subscriber[T]):
    def __init__(self, subscriber: Subscriber[T], recorded: trace.Span) -> None:
        self._subscriber = subscriber
        self._span = recorded
        self._lock = Lock()
        self._ended = False
        self._elements = 0
        self._requested = 0
        self.discards = discards_of(subscriber)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._subscriber.on_subscribe(_SpanSubscription(subscription, self))

    def on_next(self, element: T, /) -> None:
        self._elements += 1
        self._subscriber.on_next(element)

    def on_error(self, error: BaseException, /) -> None:
        self.end("failed", error)
        self._subscriber.on_error(error)

    def on_complete(self) -> None:
        self.end("completed")
        self._subscriber.on_complete()

    def add_demand(self, n: int) -> None:
        """Add to the recorded demand."""
        with self._lock:
            self._requested += max(n, 0)

    def end(self, outcome: str, error: BaseException | None = None) -> None:
        """End the span, once."""
        with self._lock:
            first, self._ended = not self._ended, True
        if not first:
            return
        recorded = self._span
        recorded.set_attribute("pyrs.elements", self._elements)
        recorded.set_attribute("pyrs.requested", -1 if self._requested >= UNBOUNDED else self._requested)
        recorded.set_attribute("pyrs.outcome", outcome)
        if error is not None:
            recorded.record_exception(error)
            recorded.set_status(trace.Status(trace.StatusCode.ERROR, str(error)))
        recorded.end()


class _SpanSubscription(Subscription):
    def __init__(self, subscription: Subscription, subscriber: _SpanSubscriber[Any]) -> None:
        self._subscription = subscription
        self._subscriber = subscriber

    def request(self, n: int, /) -> None:
        self._subscriber.add_demand(n)
        self._subscription.request(n)

    def cancel(self) -> None:
        self._subscriber.end("cancelled")
        self._subscription.cancel()
