"""The metrics of all subscriptions, read when they are exported."""

from __future__ import annotations

import re
from collections.abc import Iterator
from threading import RLock
from time import perf_counter
from typing import Protocol
from weakref import WeakSet

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions

_MAX_NAMES = 1_000
_OTHERS = "other"
_OPERATOR = re.compile(r"\w+(?=\()")
_DELAYS = [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0]
_DURATIONS = [1e-3, 0.01, 0.1, 1.0, 10.0, 60.0, 600.0, 3600.0]

Values = Iterator[metrics.Observation]


class Counted(Protocol):
    """The counts of one subscription.

    Attributes:
        name: the name of the stream.
        started: the time of the subscription.
        bounded: the requested elements until the demand became unbounded.
    """

    name: str
    started: float
    bounded: int

    def elements(self) -> int:
        """Return the number of delivered elements, which never decreases."""
        ...

    def demand(self) -> int:
        """Return the requested elements that have not arrived; 0 if the demand is unbounded."""


class Totals:
    """The counts of all subscriptions of one name: of those that ended, and of the live ones.

    Attributes:
        attributes: the attributes of the metrics.
        subscribed: the number of subscriptions.
        requested: the bounded demand of the subscriptions that ended.
        elements: the elements of the subscriptions that ended.
        live: the other subscriptions. A weak reference does not keep an abandoned one.
    """

    def __init__(self, name: str) -> None:
        self.attributes = {"pyrs.stream": name}
        self.subscribed = 0
        self.requested = 0
        self.elements = 0
        self.live: WeakSet[Counted] = WeakSet()


class Meters:
    """The instruments of this process, in the terms of Reactor's Micrometer module.

    The counts are kept by the subscriptions and read by callbacks, so that no element costs a call of OpenTelemetry.
    The two histograms are recorded when a subscription ends, and at a request, at most ten times a second.
    """

    def __init__(self) -> None:
        self._lock = RLock()  # reentrant: a finalizer may run under it, and end a subscription
        self._totals: dict[str, Totals] = {}
        self._dropped: dict[str, int] = {}
        meter = metrics.get_meter("pyrs")
        for name, unit, words, callback in (
            ("pyrs.subscribed", "{subscription}", "Subscriptions", self._subscribed),
            ("pyrs.requested", "{element}", "Requested elements, without unbounded demand", self._requested),
            ("pyrs.elements", "{element}", "Elements that Subscribers received", self._elements),
            ("pyrs.dropped", "{element}", "Elements that no Subscriber received", self._drops),
        ):
            meter.create_observable_counter(name, [callback], unit, words)
        for name, unit, words, callback in (
            ("pyrs.active", "{subscription}", "Live subscriptions", self._active),
            (
                "pyrs.demand",
                "{element}",
                "Requested elements that are due, without unbounded demand",
                self._demand,
            ),
            ("pyrs.in_flight", "{element}", "Elements between Python and the JVM", self._in_flight),
        ):
            meter.create_observable_up_down_counter(name, [callback], unit, words)
        self._delay = meter.create_histogram(
            "pyrs.on_next.delay", "s", "Mean time between elements", explicit_bucket_boundaries_advisory=_DELAYS
        )
        self._duration = meter.create_histogram(
            "pyrs.flow.duration",
            "s",
            "Time from the subscription to its terminal signal or cancel",
            explicit_bucket_boundaries_advisory=_DURATIONS,
        )

    # Called by subscriptions.

    def subscribed(self, observation: Counted) -> Totals:
        """Count a subscription and return the totals of its name.

        Beyond 1,000 names, all others share one: a program may compute names.
        """
        with self._lock:
            name = observation.name
            if name not in self._totals and len(self._totals) >= _MAX_NAMES:
                name = _OTHERS
            totals = self._totals.setdefault(name, Totals(name))
            totals.subscribed += 1
            totals.live.add(observation)
            return totals

    def ended(self, observation: Counted, totals: Totals, outcome: str, error: BaseException | None) -> None:
        """Count a subscription as ended."""
        with self._lock:
            totals.live.discard(observation)
            totals.requested += observation.bounded
            totals.elements += observation.elements()
        attributes = {**totals.attributes, "pyrs.outcome": outcome}
        if error is not None:
            attributes["error.type"] = type(error).__qualname__
        self._duration.record(perf_counter() - observation.started, attributes)

    def delayed(self, seconds: float, totals: Totals) -> None:
        """Record the mean time between elements."""
        self._delay.record(seconds, totals.attributes)

    def dropped(self, count: int, where: str) -> None:
        """Count dropped elements; the observer of ``observe_drops``."""
        operator = _OPERATOR.match(where)
        name = operator.group() if operator else _OTHERS
        with self._lock:
            self._dropped[name] = self._dropped.get(name, 0) + count

    # Called when the metrics are exported.

    def _each(self) -> list[tuple[Totals, list[Counted]]]:
        with self._lock:
            return [(totals, list(totals.live)) for totals in self._totals.values()]

    def _subscribed(self, options: CallbackOptions) -> Values:
        for totals, _ in self._each():
            yield metrics.Observation(totals.subscribed, totals.attributes)

    def _active(self, options: CallbackOptions) -> Values:
        for totals, live in self._each():
            yield metrics.Observation(len(live), totals.attributes)

    def _requested(self, options: CallbackOptions) -> Values:
        with self._lock:  # so that none of them ends in the meantime, and is counted twice
            counts = [(each.requested + sum(one.bounded for one in live), each) for each, live in self._each()]
        for count, totals in counts:
            yield metrics.Observation(count, totals.attributes)

    def _elements(self, options: CallbackOptions) -> Values:
        with self._lock:
            counts = [(each.elements + sum(one.elements() for one in live), each) for each, live in self._each()]
        for count, totals in counts:
            yield metrics.Observation(count, totals.attributes)

    def _demand(self, options: CallbackOptions) -> Values:
        for totals, live in self._each():
            yield metrics.Observation(sum(one.demand() for one in live), totals.attributes)

    def _drops(self, options: CallbackOptions) -> Values:
        with self._lock:
            dropped = list(self._dropped.items())
        for operator, count in dropped:
            yield metrics.Observation(count, {"pyrs.operator": operator})

    def _in_flight(self, options: CallbackOptions) -> Values:
        try:
            from pyrs.jvm.link.connection import live_sessions
        except ImportError:  # without msgpack there is no bridge
            return
        to_python = to_jvm = 0
        for session in live_sessions():
            for stream in list(session.streams.values()):
                if hasattr(stream, "window"):  # an InboundStream
                    to_python += stream.in_flight
                else:
                    to_jvm += stream.buffered
        yield metrics.Observation(to_python, {"pyrs.direction": "to Python"})
        yield metrics.Observation(to_jvm, {"pyrs.direction": "to JVM"})
