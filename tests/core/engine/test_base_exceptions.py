"""Errors of any type, also those that are not an Exception, of ``subscribe`` (rule 1.9) and of closing an iterator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import pytest

import pyrs
from pyrs.schedulers import default, inline
from pyrs.testing import TestSubscriber
from tests.core.support import RecordingSubscription, subscribe
from tests.waiting import eventually


class Planned(BaseException):
    pass


class FailingIterable:
    def __iter__(self) -> Iterator[int]:
        raise Planned


class FailingPublisher(pyrs.Publisher[int]):
    def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
        raise Planned


def fail(*_: object) -> NoReturn:
    raise Planned


def failing_publisher() -> pyrs.Stream[int]:
    return pyrs.Stream(FailingPublisher())


STREAMS: dict[str, Callable[[], pyrs.Stream[Any]]] = {
    "defer": lambda: pyrs.defer(fail),
    "from_iterable": lambda: pyrs.from_iterable(FailingIterable()),
    "flat_map of an iterable": lambda: pyrs.range(3).flat_map(lambda _: pyrs.from_iterable(FailingIterable())),
    "flat_map_sequential": lambda: pyrs.range(3).flat_map_sequential(lambda _: failing_publisher()),
    "concat_map": lambda: pyrs.range(3).concat_map(lambda _: failing_publisher()),
    "delay_subscription": lambda: failing_publisher().delay_subscription(0, scheduler=inline()),
    "share": lambda: failing_publisher().share(),
    "map": lambda: failing_publisher().map(str),
}


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_base_exception_raised_during_subscribe_fails_the_stream(stream: Callable[[], pyrs.Stream[Any]]) -> None:
    subscriber = subscribe(stream())
    assert isinstance(subscriber.await_error(), Planned)
    subscriber.assert_rules()


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_exit_raised_during_subscribe_propagates(error: type[BaseException]) -> None:
    def leave() -> NoReturn:
        raise error

    with pytest.raises(error):
        subscribe(pyrs.defer(leave))


class LeavingPublisher(pyrs.Publisher[int]):
    """Raises an exit in ``subscribe``, after it has signalled ``on_subscribe`` if it has a Subscription."""

    def __init__(self, error: type[BaseException], subscription: pyrs.Subscription | None = None) -> None:
        self.error = error
        self.subscription = subscription

    def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
        if self.subscription is not None:
            subscriber.on_subscribe(self.subscription)
        raise self.error


ON_A_THREAD: dict[str, Callable[[pyrs.Stream[int]], pyrs.Stream[Any]]] = {
    "subscribe_on": lambda source: source.subscribe_on(default()),
    "delay_subscription": lambda source: source.delay_subscription(0.001),
    "concat_map": lambda source: pyrs.timer(0.001).concat_map(lambda _: source),
    "retry": lambda source: raise_once_before(source).retry(1, backoff=pyrs.Backoff(first=0.001)),
    "timeout": lambda source: pyrs.never().timeout(0.001, fallback=source),
    "share": lambda source: source.share().subscribe_on(default()),
    "cache": lambda source: source.cache().subscribe_on(default()),
    "defer": lambda source: pyrs.defer(lambda: source).map(str).subscribe_on(default()),
}


def raise_once_before(source: pyrs.Stream[int]) -> pyrs.Stream[int]:
    sources = iter([pyrs.error(OSError()), source])
    return pyrs.defer(lambda: next(sources))


@pytest.mark.parametrize("error", [RecursionError, SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("operator", ON_A_THREAD.values(), ids=ON_A_THREAD)
def test_exit_raised_during_subscribe_on_a_thread_of_a_scheduler_fails_the_stream(
    operator: Callable[[pyrs.Stream[int]], pyrs.Stream[Any]], error: type[BaseException], dropped: Any
) -> None:
    subscription = RecordingSubscription()
    for publisher in (LeavingPublisher(error), LeavingPublisher(error, subscription)):
        subscriber = subscribe(operator(pyrs.Stream(publisher)))
        assert isinstance(subscriber.await_error(), error)
        subscriber.assert_rules()
        eventually(lambda: dropped.errors != [])
        assert [type(each) for each in dropped.take()] == [error]  # the thread also reports it
    assert subscription.cancelled == 1


@pytest.mark.parametrize("error", [ValueError, Planned, RecursionError])
def test_error_of_closing_an_iterator_is_reported_and_the_terminal_signal_follows(
    error: type[BaseException], dropped: Any
) -> None:
    class Closing:
        def __iter__(self) -> Iterator[int]:
            try:
                yield from range(9)
            finally:
                raise error("planned")

    cancelled, completed = TestSubscriber[int](1), TestSubscriber[int](2)
    pyrs.from_iterable(Closing()).subscribe(cancelled)
    cancelled.cancel()  # rule 3.15: returns normally
    pyrs.from_iterable(Closing()).take(2).subscribe(completed)
    assert completed.await_complete() == [0, 1]
    assert [type(each) for each in dropped.take()] == [error, error]
