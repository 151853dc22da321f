"""Measure the throughput from a Flux to a Subscriber.

The bridge is compared with a Py4J proxy.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pyrs._demo.driver import DemoError
from pyrs._demo.stages import PatientSubscriber, Tally

DEMAND = 64
_DEADLINE_SECONDS = 60.0


class NaiveSubscriber:
    """A Py4J proxy, as PySpark users write it today: one callback per signal."""

    class Java:
        """The interfaces that Py4J's proxy implements."""

        implements = ("org.reactivestreams.Subscriber",)

    def __init__(self, subscriber: PatientSubscriber) -> None:
        self.onSubscribe = subscriber.on_subscribe
        self.onNext = subscriber.on_next
        self.onError = lambda error: subscriber.on_error(RuntimeError(str(error)))
        self.onComplete = subscriber.on_complete


def race(subscribe: Callable[[PatientSubscriber], Any]) -> tuple[Tally, float]:
    """Subscribe to a stream of rating lines, and measure it.

    Returns the tally of the elements, and their number per second.
    """
    subscriber = PatientSubscriber(DEMAND, lambda line: int(line[-1]))
    begun = time.perf_counter()
    subscribe(subscriber)
    ended, taken = subscriber.ended.wait(_DEADLINE_SECONDS), subscriber.taken
    seconds = time.perf_counter() - begun
    if not ended or subscriber.error is not None:
        reason = subscriber.error or f"it did not end within {_DEADLINE_SECONDS:.0f} seconds"
        raise DemoError(f"the race failed after {taken.count} elements: {reason}")
    return taken, taken.count / seconds
