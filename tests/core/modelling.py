"""Compare operators with a list model, for every kind of source and any pattern of demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import pyrs
from pyrs.testing import TestSubscriber
from tests.rounds import rounds

__all__ = ["DEMANDS", "NUMBERS", "WAYS", "Counting", "agrees", "quick"]

quick = settings(
    max_examples=rounds(100), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

NUMBERS = st.lists(st.integers(-3, 9), max_size=12)
DEMANDS = st.lists(st.sampled_from([1, 1, 2, 3, 100, pyrs.UNBOUNDED]), max_size=8)


class Counting(pyrs.Publisher[Any]):
    """A Publisher that counts the signals of its source, and with which operators cannot fuse.

    Args:
        elements: the elements of the source; ``of`` counts another source.
        error: the error of the source after the elements; None for completion.

    Attributes:
        requests: each n that was requested.
        pulled: the number of emitted elements.
        cancels: the number of cancel calls.
        subscriptions: the number of Subscribers.
    """

    def __init__(self, elements: Iterable[Any] = (), error: BaseException | None = None) -> None:
        self.source: pyrs.Publisher[Any] = failing(elements, error)
        self.requests: list[int] = []
        self.pulled = 0
        self.cancels = 0
        self.subscriptions = 0

    @classmethod
    def of(cls, source: pyrs.Publisher[Any]) -> Counting:
        """Count the signals of an existing Publisher."""
        counting = cls()
        counting.source = source
        return counting

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        self.subscriptions += 1
        self.source.subscribe(_CountingSubscriber(self, subscriber))

    def stream(self) -> pyrs.Stream[Any]:
        return pyrs.Stream(self)

    @property
    def requested(self) -> int:
        return sum(self.requests)

    def __repr__(self) -> str:
        return "counting"


class _CountingSubscriber(pyrs.Subscriber[Any], pyrs.Subscription):
    def __init__(self, counting: Counting, subscriber: pyrs.Subscriber[Any]) -> None:
        self.counting = counting
        self.subscriber = subscriber
        self.subscription: pyrs.Subscription | None = None

    def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
        self.subscription = subscription
        self.subscriber.on_subscribe(self)

    def on_next(self, element: Any, /) -> None:
        self.counting.pulled += 1
        self.subscriber.on_next(element)

    def on_error(self, error: BaseException, /) -> None:
        self.subscriber.on_error(error)

    def on_complete(self) -> None:
        self.subscriber.on_complete()

    def request(self, n: int, /) -> None:
        assert self.subscription is not None
        self.counting.requests.append(n)
        self.subscription.request(n)

    def cancel(self) -> None:
        assert self.subscription is not None
        self.counting.cancels += 1
        self.subscription.cancel()


def failing(elements: Iterable[Any], error: BaseException | None = None) -> pyrs.Stream[Any]:
    """Return a stream that emits the elements, then fails with ``error``, or completes if ``error`` is None."""
    if error is None:
        return pyrs.from_iterable(list(elements))

    def generate() -> Iterable[Any]:
        yield from elements
        raise error

    return pyrs.defer(lambda: pyrs.from_iterable(generate()))


WAYS: dict[str, Callable[[Sequence[Any]], pyrs.Stream[Any]]] = {
    "list": lambda elements: pyrs.from_iterable(list(elements)),
    "generator": lambda elements: pyrs.from_iterable(element for element in elements),
    "pushed": lambda elements: Counting(elements).stream(),
    "staged": lambda elements: Counting(elements).stream().map(lambda element: element),
}


def agrees(
    build: Callable[[pyrs.Stream[Any]], pyrs.Publisher[Any]],
    elements: Sequence[Any],
    expected: Sequence[Any],
    demands: Sequence[int] = (),
) -> None:
    """Check that the operator emits exactly the expected elements, from every kind of source, under these demands."""
    for way, source in WAYS.items():
        subscriber: TestSubscriber[Any] = TestSubscriber()
        build(source(elements)).subscribe(subscriber)
        demanded = 0
        for n in demands:
            subscriber.request(n)
            demanded += n
            assert subscriber.elements == list(expected[: min(demanded, len(expected))]), (way, demanded)
        subscriber.request(len(expected) + 1)
        assert subscriber.await_complete() == list(expected), way
        subscriber.assert_rules()
