"""What windows and groups have in common: their context, who hears of an error, what runs under no lock."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context, ContextVar
from typing import Any

import pytest

import pyrs
from pyrs.testing import TestPublisher, TestSubscriber

variable = ContextVar("variable", default="nothing")

Split = Callable[[pyrs.Stream[Any]], pyrs.Stream[Any]]

SPLITS: dict[str, Split] = {
    "groups": lambda stream: stream.group_by(lambda element: 0),
    "windows": lambda stream: stream.window(100),
    "timed windows": lambda stream: stream.window(seconds=9.0),
}


@pytest.fixture(params=SPLITS)
def split(request: pytest.FixtureRequest) -> Split:
    return SPLITS[request.param]


def in_context(value: str, action: Callable[[], Any]) -> Any:
    def act() -> Any:
        variable.set(value)
        return action()

    return Context().run(act)


def listen(part: pyrs.Publisher[Any], request: int | None = None) -> TestSubscriber[Any]:
    subscriber: TestSubscriber[Any] = TestSubscriber(request)
    part.subscribe(subscriber)
    return subscriber


# Context.


def test_a_part_is_signalled_in_the_context_of_whoever_subscribed_to_it(split: Split) -> None:
    source: TestPublisher[int] = TestPublisher()
    parts: TestSubscriber[Any] = TestSubscriber(None)
    seen: list[str] = []

    def note(*signal: object) -> None:
        seen.append(variable.get())

    in_context("outer", lambda: split(source.stream()).subscribe(parts))
    source.next(1)
    in_context("inner", lambda: parts.elements[0].subscribe(on_next=note, on_complete=note))
    source.next(2)
    in_context("upstream's", source.complete)
    assert seen == ["inner"] * 3
    parts.assert_complete()


# Errors.


@pytest.mark.parametrize("flat", ["flat_map", "concat_map"])
def test_an_error_that_was_delivered_by_a_part_is_not_reported_too(split: Split, flat: str) -> None:
    failure = OSError("no")
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber(None)
    getattr(split(source.stream()), flat)(lambda part: part).subscribe(subscriber)
    source.next(1, 2).error(failure)  # what reached the hook fails this test
    subscriber.assert_elements(1, 2).assert_error(OSError)


def test_an_error_that_a_part_has_yet_to_deliver_is_not_reported(split: Split, dropped: Any) -> None:
    failure = OSError("no")
    source: TestPublisher[int] = TestPublisher()
    parts: TestSubscriber[Any] = TestSubscriber(1)
    split(source.stream()).subscribe(parts)
    source.next(1)
    reader = listen(parts.elements[0], 0)
    parts.cancel()
    source.error(failure)
    reader.assert_live()
    reader.request(1)
    reader.assert_error(OSError)


def test_an_error_is_reported_when_the_last_who_was_to_be_told_it_has_gone(split: Split, dropped: Any) -> None:
    failure = OSError("no")
    source: TestPublisher[int] = TestPublisher()
    parts: TestSubscriber[Any] = TestSubscriber(1)
    split(source.stream()).subscribe(parts)
    source.next(1)
    reader = listen(parts.elements[0], 0)
    parts.cancel()
    source.error(failure)
    assert dropped.take() == []
    reader.cancel()
    assert dropped.take() == [failure]
