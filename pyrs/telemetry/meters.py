"""The metrics of all subscriptions, read when they are exported."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
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
    """The part of ``Observation`` that meters use; its import would be circular."""

    name: str
    started: float
    bounded: int

    def elements(self) -> int: ...

    def demand(self) -> int: ...


class Totals:
    """The counts of all subscriptions with the same name, ended and live."""

    def __init__(self, name: str) -> None:
        self.attributes = {"pyrs.stream": name}
        self.subscribed = 0
        self.requested = 0  # the bounded demand of the subscriptions that ended
        self.elements = 0  # the elements of the subscriptions that ended
        self.live: WeakSet[Counted] = WeakSet()  # weak references, so that an abandoned one can be collected


_COUNTS: dict[str, Callable[[Totals, list[Counted]], int]] = {
    "pyrs.subscribed": lambda totals, live: totals.subscribed,
    "pyrs.requested": lambda totals, live: totals.requested + sum(each.bounded for each in live),
    "pyrs.elements": lambda totals, live: totals.elements + sum(each.elements() for each in live),
    "pyrs.active": lambda totals, live: len(live),
    "pyrs.demand": lambda totals, live: sum(each.demand() for each in live),
}


class Meters:
    """The instruments of this process, in the terms of Reactor's Micrometer module.

    The counts are kept by the subscriptions and read by callbacks, so that elements cause no calls of OpenTelemetry.
    Both histograms are recorded when a subscription ends. The delay is also recorded at requests, at most ten times a
    second.
    """

    def __init__(self) -> None:
        self._lock = RLock()  # reentrant: a finalizer may end a subscription while the lock is held
        self._totals: dict[str, Totals] = {}
        self._dropped: dict[str, int] = {}
        meter = metrics.get_meter("pyrs")
        counter, up_down = meter.create_observable_counter, meter.create_observable_up_down_counter
        for create, name, unit, words in (
            (counter, "pyrs.subscribed", "{subscription}", "Subscriptions"),
            (counter, "pyrs.requested", "{element}", "Requested elements, without unbounded demand"),
            (counter, "pyrs.elements", "{element}", "Elements that Subscribers received"),
            (up_down, "pyrs.active", "{subscription}", "Live subscriptions"),
            (up_down, "pyrs.demand", "{element}", "Outstanding demand, without unbounded demand"),
        ):
            create(name, [partial(self._observe, _COUNTS[name])], unit, words)
        counter("pyrs.dropped", [self._drops], "{element}", "Elements that no Subscriber received")
        up_down("pyrs.in_flight", [_in_flight], "{element}", "Elements between Python and the JVM")
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

        After 1,000 names, all further names share one entry, because a program may compute names.
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

    def _observe(self, count: Callable[[Totals, list[Counted]], int], options: CallbackOptions) -> Values:
        with self._lock:  # otherwise a subscription that ends during the sum could be counted twice
            counts = [(count(each, list(each.live)), each.attributes) for each in self._totals.values()]
        for number, attributes in counts:
            yield metrics.Observation(number, attributes)

    def _drops(self, options: CallbackOptions) -> Values:
        with self._lock:
            dropped = list(self._dropped.items())
        for operator, count in dropped:
            yield metrics.Observation(count, {"pyrs.operator": operator})


def _in_flight(options: CallbackOptions) -> Values:
    try:
        from pyrs.jvm.link.connection import live_sessions
        from pyrs.jvm.link.inbound import InboundStream
    except ImportError:  # without msgpack there is no bridge
        return
    to_python = to_jvm = 0
    for session in live_sessions():
        for stream in list(session.streams.values()):
            if isinstance(stream, InboundStream):
                to_python += stream.in_flight
            else:
                to_jvm += stream.buffered
    yield metrics.Observation(to_python, {"pyrs.direction": "to Python"})
    yield metrics.Observation(to_jvm, {"pyrs.direction": "to JVM"})
