"""A BaseException that is raised during ``subscribe`` becomes the error of the stream (rule 1.9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import pytest

import pyrs
from pyrs.schedulers import inline
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
