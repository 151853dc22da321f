"""``await`` of a Single or Maybe discards the element that it does not return."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pyrs
from pyrs.testing import TestPublisher


def element_then(end: Callable[[TestPublisher[Any], asyncio.Task[Any]], object]) -> object:
    """Await a Single, emit one element, and end the await; return the result or the error of the task."""

    async def main() -> object:
        source: TestPublisher[Any] = TestPublisher()

        async def get() -> Any:
            return await pyrs.Single(source)

        task = asyncio.ensure_future(get())
        await asyncio.sleep(0)
        source.next("first")
        for _ in range(3):  # the task receives the element, and waits for the end
            await asyncio.sleep(0)
        end(source, task)
        (outcome,) = await asyncio.gather(task, return_exceptions=True)
        return outcome

    return asyncio.run(main())


def test_cancelled_await_discards_the_element(discarded: list[Any]) -> None:
    assert isinstance(element_then(lambda source, task: task.cancel()), asyncio.CancelledError)
    assert discarded == ["first"]


def test_failed_await_discards_the_element(discarded: list[Any]) -> None:
    error = ValueError("planned")
    assert element_then(lambda source, task: source.error(error)) is error
    assert discarded == ["first"]


def test_await_of_too_many_elements_discards_them(discarded: list[Any]) -> None:
    outcome = element_then(lambda source, task: source.next("second"))
    assert isinstance(outcome, pyrs.errors.TooManyElements)
    assert sorted(discarded) == ["first", "second"]


def test_completed_await_discards_nothing(discarded: list[Any]) -> None:
    assert element_then(lambda source, task: source.complete()) == "first"
    assert discarded == []
