"""The interface of a benchmark JVM, for either gateway."""

from __future__ import annotations

from typing import Any, Protocol

from benchmarks.consumer import Consumer

DEMAND = 256


class Driver(Protocol):
    """A running JVM with the benchmarks' classes, a bridge, and naive proxies."""

    @property
    def bridge(self) -> Any:
        """Return the bridge, opened on first use."""

    def java(self, name: str) -> Any:
        """Return a class of ``benchmarks/java``, with callable static methods."""

    def naive_subscriber(self, consumer: Consumer) -> Any:
        """Create a proxy that implements ``org.reactivestreams.Subscriber``."""

    def naive_publisher(self, count: int) -> Any:
        """Create a proxy: an ``org.reactivestreams.Publisher`` of integers from 0."""

    def close(self) -> None:
        """Close the bridge, and the Spark session if there is one."""


class NaiveSubscription:
    """Handle demand as hand-written code does: with a counter, and a flag against recursion."""

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
