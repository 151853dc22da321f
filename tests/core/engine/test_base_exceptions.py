"""Errors that are not an Exception, raised during ``subscribe`` (rule 1.9) or by the end of an iterator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import pytest

import pyrs
from pyrs.schedulers import inline
from pyrs.testing import TestSubscriber
from tests.core.support import subscribe


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
