"""What the tests of the core share: every way in which a stream of ours can reach a Subscriber, and the two hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

import pyrs
from pyrs._core.executor import DaemonExecutor
from pyrs._core.guard import GuardedPublisher
from tests.waiting import DEADLINE


class Hidden(pyrs.Publisher[Any]):
    """A Publisher that operators cannot look into: they have to work as Subscribers of it."""

    def __init__(self, source: pyrs.Publisher[Any]) -> None:
        self.source = source

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        self.source.subscribe(subscriber)

    def __repr__(self) -> str:
        return "hidden"


class Elsewhere(pyrs.Publisher[Any]):
    """Runs every request on a thread of an executor, so that all signals come from there."""

    def __init__(self, source: pyrs.Publisher[Any], execute: Callable[[Callable[[], None]], object]) -> None:
        self.source = source
        self.execute = execute

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        if subscriber is None:
            self.source.subscribe(subscriber)
        self.execute(lambda: self.source.subscribe(_Redirected(subscriber, self.execute)))


class _Redirected(pyrs.Subscriber[Any]):
    def __init__(self, subscriber: pyrs.Subscriber[Any], execute: Callable[[Callable[[], None]], object]) -> None:
        self.on_next = subscriber.on_next  # type: ignore[method-assign]
        self.on_error = subscriber.on_error  # type: ignore[method-assign]
        self.on_complete = subscriber.on_complete  # type: ignore[method-assign]
        self.subscriber = subscriber
        self.execute = execute

    def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
        self.subscriber.on_subscribe(_RedirectedSubscription(subscription, self.execute))

    def on_next(self, element: Any, /) -> None: ...
    def on_error(self, error: BaseException, /) -> None: ...
    def on_complete(self) -> None: ...


class _RedirectedSubscription(pyrs.Subscription):
    def __init__(self, subscription: pyrs.Subscription, execute: Callable[[Callable[[], None]], object]) -> None:
        self.subscription = subscription
        self.execute = execute

    def request(self, n: int, /) -> None:
        self.execute(lambda: self.subscription.request(n))

    def cancel(self) -> None:
        self.subscription.cancel()


@pytest.fixture(scope="session")
def executor() -> Iterator[DaemonExecutor]:
    executor = DaemonExecutor("test", idle_seconds=1.0)
    yield executor
    assert executor.shutdown(DEADLINE)


@pytest.fixture
def hidden() -> Callable[[pyrs.Publisher[Any]], pyrs.Stream[Any]]:
    """Wrap a Publisher so that nothing is fused with it."""
    return lambda source: pyrs.Stream(Hidden(source))


@pytest.fixture
def elsewhere(executor: DaemonExecutor) -> Callable[[pyrs.Publisher[Any]], pyrs.Stream[Any]]:
    """Wrap a Publisher so that its signals come from other threads."""
    return lambda source: pyrs.Stream(Elsewhere(source, executor.execute))


def _same(value: Any) -> Any:
    return value


def _always(value: Any) -> bool:
    return True


@pytest.fixture(params=["list", "generator", "fused", "staged", "guarded"])
def source(request: pytest.FixtureRequest) -> Callable[[Iterable[Any]], pyrs.Stream[Any]]:
    """Return what makes a stream of these elements, in each of the ways that a stream can be driven."""
    ways: dict[str, Callable[[Iterable[Any]], pyrs.Stream[Any]]] = {
        "list": lambda elements: pyrs.from_iterable(list(elements)),
        "generator": lambda elements: pyrs.from_iterable(element for element in elements),
        "fused": lambda elements: pyrs.from_iterable(elements).map(_same).filter(_always).take(10**9),
        "staged": lambda elements: (
            pyrs.Stream(Hidden(pyrs.from_iterable(elements))).map(_same).filter(_always).take(10**9)
        ),
        "guarded": lambda elements: pyrs.Stream(GuardedPublisher(pyrs.from_iterable(elements))),
    }
    return ways[request.param]


class Dropped:
    """What reached the hooks. A test that expects something takes it away."""

    def __init__(self) -> None:
        self.errors: list[BaseException] = []
        self.counts: list[int] = []  # of elements; a sum of two threads' could lose one

    @property
    def elements(self) -> int:
        return sum(self.counts)

    def take(self) -> list[BaseException]:
        """What was dropped; of what a strict guard says about a Subscriber that raised (2.13), what it raised."""
        taken, self.errors = self.errors, []
        return [(getattr(error, "rule", "") == "2.13" and error.__cause__) or error for error in taken]


@pytest.fixture(autouse=True)
def dropped() -> Iterator[Dropped]:
    """Record what is dropped, and fail the test that drops something unexpectedly."""
    record = Dropped()
    error_hook = pyrs.set_error_hook(lambda error, where: record.errors.append(error))
    element_hook = pyrs.set_element_hook(lambda elements, where: record.counts.append(elements))
    yield record
    pyrs.set_error_hook(error_hook)
    pyrs.set_element_hook(element_hook)
    assert record.errors == []
