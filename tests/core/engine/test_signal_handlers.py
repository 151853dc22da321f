"""Errors that a signal handler raises inside of an operator, such as those of a time limit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any, NoReturn

import pytest

import pyrs
from pyrs._core.arbiter import ActiveSource
from pyrs._core.coordinator import Coordinator
from pyrs._core.inputs import Input, QueuedInput
from pyrs._core.pushed_chain import PushedChainSubscriber
from pyrs.testing import TestSubscriber
from tests.lines import AtLine

TRACED = [
    ActiveSource.on_next,
    ActiveSource.on_subscribe,
    Coordinator.wake,
    Coordinator._emit_from,
    Coordinator._emit_if_demanded,
    Input.on_next,
    Input.on_subscribe,
    PushedChainSubscriber.on_subscribe,
    QueuedInput.on_next,
]


class TimeLimit(BaseException):
    pass


def exceed() -> NoReturn:
    raise TimeLimit


def numbers() -> pyrs.Stream[int]:
    return pyrs.from_iterable(count())


STREAMS: dict[str, Callable[[], pyrs.Stream[Any]]] = {
    "concat": lambda: pyrs.empty().concat(numbers()),
    "flat_map": lambda: numbers().flat_map(pyrs.just),
    "group_by": lambda: numbers().group_by(lambda n: n % 2).flat_map(lambda group: group),
    "prefetch": lambda: numbers().prefetch(8).map(str),
    "zip": lambda: numbers().zip(numbers()),
}


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_error_of_a_signal_handler_fails_the_stream(
    stream: Callable[[], pyrs.Stream[Any]],
) -> None:
    for line in range(1, 120):
        with AtLine(TRACED, line, exceed) as at, pytest.raises(TimeLimit):
            stream().collect(timeout=10)
            pytest.fail(f"no error after {at.place}")


def test_error_before_on_subscribe_is_signalled_after_it() -> None:
    """Rule 1.9: the chain of pushed operators has not called ``on_subscribe`` yet."""
    for line in range(1, 40):
        subscriber = TestSubscriber[int]()
        with AtLine([PushedChainSubscriber.on_subscribe], line, exceed) as at, suppress(TimeLimit):
            pyrs.range(5).prefetch(8).map(abs).subscribe(subscriber)
        if not at.reached:
            break
        assert subscriber.subscription is not None, at.place
        assert subscriber.violations == [], at.place
    assert line > 5


def test_error_at_the_begin_of_on_complete_fails_the_stream() -> None:
    with AtLine([Input.on_complete], 1, exceed), pytest.raises(TimeLimit):
        pyrs.range(5).prefetch(8).map(abs).collect(timeout=10)
