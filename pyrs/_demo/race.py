"""Measure the throughput from a Flux to a Subscriber: the bridge against a Py4J proxy."""

from __future__ import annotations

import threading
import time
from typing import Any

from pyrs._demo.driver import DemoError
from pyrs._demo.java import Java, flux_of
from pyrs.api import Subscriber, Subscription
from pyrs.jvm import Bridge

DEMAND = 64
_DEADLINE_SECONDS = 60.0


class Racer(Subscriber[str]):
    """Sums the stars of rating lines, and requests 64 lines at a time."""

    def __init__(self) -> None:
        self.count = 0
        self.stars = 0.0
        self._error: BaseException | None = None
        self._ended = threading.Event()
        self._left = 0
        self._subscription: Any = None
        self._begun = time.perf_counter()
        self._seconds = 0.0

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._subscription = subscription
        self._request_batch()

    def on_next(self, line: str, /) -> None:
        self.count += 1
        self.stars += int(line[-1])
        self._left -= 1
        if not self._left:
            self._request_batch()

    def on_error(self, error: BaseException, /) -> None:
        self._error = error
        self._ended.set()

    def on_complete(self) -> None:
        self._seconds = time.perf_counter() - self._begun
        self._ended.set()

    def elements_per_second(self) -> float:
        """Wait for the terminal signal and return the throughput."""
        if not self._ended.wait(_DEADLINE_SECONDS):
            raise DemoError(
                f"the race did not end within {_DEADLINE_SECONDS:.0f} seconds; {self.count} elements arrived"
            )
        if self._error is not None:
            raise DemoError(f"the race failed after {self.count} elements: {self._error}")
        return self.count / self._seconds

    def _request_batch(self) -> None:
        self._left = DEMAND
        self._subscription.request(DEMAND)


class NaiveSubscriber:
    """A Py4J proxy, as PySpark users write it today: one callback per signal."""

    def __init__(self, racer: Racer) -> None:
        self._racer = racer

    def onSubscribe(self, subscription: Any) -> None:  # noqa: N802 (Java's names, as Py4J calls them)
        self._racer.on_subscribe(subscription)

    def onNext(self, line: str) -> None:  # noqa: N802
        self._racer.on_next(line)

    def onError(self, error: Any) -> None:  # noqa: N802
        self._racer.on_error(RuntimeError(str(error)))

    def onComplete(self) -> None:  # noqa: N802
        self._racer.on_complete()

    class Java:
        """The interfaces that Py4J's proxy implements."""

        implements = ("org.reactivestreams.Subscriber",)


def race_bridge(bridge: Bridge, jvm: Java, lines: Java, laps: int) -> Racer:
    """Send the lines ``laps`` times over the bridge; return the Subscriber."""
    stream = bridge.from_jvm(flux_of(jvm, lines, laps))
    racer = Racer()
    stream.subscribe(racer)
    return racer


def race_naive(jvm: Java, lines: Java, laps: int) -> Racer:
    """Send the lines with one callback per signal; return the Subscriber.

    ``jvm`` needs a callback server.
    """
    flux = flux_of(jvm, lines, laps)
    racer = Racer()
    flux.subscribe(NaiveSubscriber(racer))
    return racer
