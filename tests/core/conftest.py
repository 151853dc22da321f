"""Fixtures of the core's tests: every way to drive a stream, and records of the calls of the hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

import pyrs
from pyrs._core.executor import DaemonExecutor
from pyrs._core.guard import GuardedPublisher
from tests.blocking import no_blocked_loop
from tests.waiting import DEADLINE

__all__ = ["Dropped", "Hidden", "no_blocked_loop"]

Wrap = Callable[[pyrs.Publisher[Any]], pyrs.Stream[Any]]


class Hidden(pyrs.Publisher[Any]):
    """Wrap a Publisher so that operators cannot fuse with it and must subscribe to it."""

    def __init__(self, source: pyrs.Publisher[Any]) -> None:
        self.source = source

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        self.source.subscribe(subscriber)

    def __repr__(self) -> str:
        return "hidden"


class ThreadedPublisher(pyrs.Publisher[Any]):
    """Run ``subscribe`` and every ``request`` on an executor, so that all signals come from its threads."""

    def __init__(self, source: pyrs.Publisher[Any], execute: Callable[[Callable[[], None]], object]) -> None:
        self.source = source
        self.execute = execute

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        if subscriber is None:
            self.source.subscribe(subscriber)
        self.execute(lambda: self.source.subscribe(_RedirectedSubscriber(subscriber, self.execute)))


class _RedirectedSubscriber(pyrs.Subscriber[Any]):
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
def hidden() -> Wrap:
    """Wrap a Publisher so that operators cannot fuse with it."""
    return lambda source: pyrs.Stream(Hidden(source))


@pytest.fixture
def threaded(executor: DaemonExecutor) -> Wrap:
    """Wrap a Publisher so that its signals come from executor threads."""
    return lambda source: pyrs.Stream(ThreadedPublisher(source, executor.execute))


@pytest.fixture(params=["fused", "pushed"])
def wrap(request: pytest.FixtureRequest, hidden: Wrap) -> Wrap:
    """Return a stream unchanged, or wrap it like ``hidden``."""
    return hidden if request.param == "pushed" else identity


@pytest.fixture(params=["fused", "pushed", "threaded"])
def any_way(request: pytest.FixtureRequest, hidden: Wrap, threaded: Wrap) -> Wrap:
    """Return a stream unchanged, or wrap it like ``hidden`` or ``threaded``."""
    ways: dict[str, Wrap] = {"fused": identity, "pushed": hidden, "threaded": threaded}
    return ways[request.param]


def identity(value: Any) -> Any:
    return value


def always_true(value: Any) -> bool:
    return True


@pytest.fixture(params=["list", "generator", "fused", "pushed", "guarded"])
def source(request: pytest.FixtureRequest) -> Callable[[Iterable[Any]], pyrs.Stream[Any]]:
    """Return a function that creates a stream of the given elements, for one of the ways to drive a stream."""
    ways: dict[str, Callable[[Iterable[Any]], pyrs.Stream[Any]]] = {
        "list": lambda elements: pyrs.from_iterable(list(elements)),
        "generator": lambda elements: pyrs.from_iterable(element for element in elements),
        "fused": lambda elements: pyrs.from_iterable(elements).map(identity).filter(always_true).take(10**9),
        "pushed": lambda elements: (
            pyrs.Stream(Hidden(pyrs.from_iterable(elements))).map(identity).filter(always_true).take(10**9)
        ),
        "guarded": lambda elements: pyrs.Stream(GuardedPublisher(pyrs.from_iterable(elements))),
    }
    return ways[request.param]


class Dropped:
    """Record errors and elements that reach the hooks. A test that expects errors removes them with ``take``."""

    def __init__(self) -> None:
        self.errors: list[BaseException] = []
        self.counts: list[int] = []  # a list, because two threads that add to one integer could lose an update

    @property
    def elements(self) -> int:
        return sum(self.counts)

    def take(self) -> list[BaseException]:
        """Remove and return the dropped errors. A violation of 2.13 is replaced by the error that caused it."""
        taken, self.errors = self.errors, []
        return [(getattr(error, "rule", "") == "2.13" and error.__cause__) or error for error in taken]


@pytest.fixture(autouse=True)
def dropped() -> Iterator[Dropped]:
    """Record dropped errors and elements, and fail a test that leaves an unexpected error."""
    record = Dropped()
    error_hook = pyrs.set_error_hook(lambda error, where: record.errors.append(error))
    element_hook = pyrs.set_element_hook(lambda elements, where: record.counts.append(elements))
    yield record
    pyrs.set_error_hook(error_hook)
    pyrs.set_element_hook(element_hook)
    assert record.errors == []


@pytest.fixture
def discarded() -> Iterator[list[Any]]:
    """Record the elements that reach the discard hook."""
    elements: list[Any] = []
    before = pyrs.set_discard_hook(elements.append)
    yield elements
    pyrs.set_discard_hook(before)
