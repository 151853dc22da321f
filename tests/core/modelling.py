"""Operators against a list model: every way to drive them, any demand, exact counts upstream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import pyrs
from pyrs.testing import TestSubscriber

__all__ = ["DEMANDS", "NUMBERS", "WAYS", "Counting", "agrees", "quick"]

quick = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])

NUMBERS = st.lists(st.integers(-3, 9), max_size=12)
DEMANDS = st.lists(st.sampled_from([1, 1, 2, 3, 100, pyrs.UNBOUNDED]), max_size=8)


class Counting(pyrs.Publisher[Any]):
    """Passes signals on, hides from operators what it is, and counts what passes.

    Attributes:
        requests: each n that was requested.
        pulled: how many elements it gave.
        cancels: how often it was cancelled.
    """

    def __init__(self, elements: Iterable[Any], error: BaseException | None = None) -> None:
        self.source = failing(elements, error)
        self.requests: list[int] = []
        self.pulled = 0
        self.cancels = 0

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        self.source.subscribe(_Counted(self, subscriber))

    def stream(self) -> pyrs.Stream[Any]:
        return pyrs.Stream(self)

    @property
    def requested(self) -> int:
        return sum(self.requests)

    def __repr__(self) -> str:
        return "counting"


class _Counted(pyrs.Subscriber[Any], pyrs.Subscription):
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
    """Return a stream of the elements, over a list, that fails at its end where there is an error."""
    if error is None:
        return pyrs.from_iterable(list(elements))

    def gives() -> Iterable[Any]:
        yield from elements
        raise error

    return pyrs.Stream(_Each(gives))


class _Each(pyrs.Publisher[Any]):
    def __init__(self, gives: Callable[[], Iterable[Any]]) -> None:
        self.gives = gives

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        pyrs.from_iterable(self.gives()).subscribe(subscriber)


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
    """Check what the operator makes of the elements, whichever way they come, whatever is demanded when."""
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
