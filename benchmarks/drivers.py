"""What the rows ask of a JVM, whichever gateway reaches it."""

from __future__ import annotations

from typing import Any, Protocol

from benchmarks.consumer import Consumer

DEMAND = 256


class Driver(Protocol):
    """A running JVM with the benchmarks' classes, a bridge to it, and the naive way of doing without the bridge."""

    @property
    def bridge(self) -> Any:
        """The `pyrs.jvm` bridge, opened on first use."""

    def java(self, name: str) -> Any:
        """A class of `benchmarks/java`, static methods callable."""

    def naive_subscriber(self, consumer: Consumer) -> Any:
        """A gateway's proxy that Java takes for an `org.reactivestreams.Subscriber`."""

    def naive_publisher(self, count: int) -> Any:
        """A gateway's proxy that Java takes for an `org.reactivestreams.Publisher` of the integers from 0."""

    def close(self) -> None:
        """Leaves the JVM."""


class NaiveSubscription:
    """Demand as users write it by hand: a counter and a flag against recursion."""

    def __init__(self, subscriber: Any, count: int) -> None:
        self._subscriber = subscriber
        self._count = count
        self._next = 0
        self._demand = 0
        self._emitting = False

    def request(self, n: int) -> None:
        self._demand += n
        if self._emitting:
            return
        self._emitting = True
        while self._demand and self._next < self._count:
            self._demand -= 1
            element = self._next
            self._next += 1
            self._subscriber.onNext(element)
        self._emitting = False
        if self._next == self._count:
            self._count = -1
            self._subscriber.onComplete()

    def cancel(self) -> None:
        self._count = -1
