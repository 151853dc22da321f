"""Plain functions that return a coroutine fail at the first call, and the coroutine is not emitted."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import pyrs
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.support import notes_of
from tests.waiting import DEADLINE

awaited: list[int] = []
"""The arguments of the calls of ``double`` that were awaited."""


async def double(n: int) -> int:
    awaited.append(n)
    return 2 * n


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        return function(*arguments)

    return call


class Client:
    async def double(self, n: int) -> int:
        return await double(n)

    async def __call__(self, n: int) -> int:
        return await double(n)


RETURNS: dict[str, Callable[[int], Coroutine[Any, Any, int]]] = {
    "lambda": lambda n: double(n),
    "wraps": decorated(double),
    "partial": functools.partial(decorated(double)),
}

AWAITED: dict[str, Callable[[int], Any]] = {
    "async def": double,
    "partial": functools.partial(double),
    "partial of a partial": functools.partial(functools.partial(double)),
    "method": Client().double,
    "partial of a method": functools.partial(Client().double),
    "object": Client(),
}


def pushed(*elements: int) -> pyrs.Stream[int]:
    def push(emitter: pyrs.Emitter[int]) -> None:
        for n in elements:
            emitter.next(n)
        emitter.complete()

    return pyrs.create(push)


SOURCES: dict[str, Callable[..., pyrs.Stream[int]]] = {
    "fused": pyrs.just,
    "generator": lambda *elements: pyrs.from_iterable(n for n in elements),
    "pushed": pushed,
    "after flat_map": lambda *elements: pyrs.just(*elements).flat_map(pyrs.just),
    "after a stage": lambda *elements: pushed(*elements).with_index().map(lambda pair: pair[1]),
    "after a fold": lambda *elements: pushed(*elements).buffer(1).map(lambda pair: pair[0]),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("function", RETURNS)
@pytest.mark.parametrize("then", ["", "filter"])
def test_map_fails_at_the_first_coroutine_and_closes_it(source: str, function: str, then: str) -> None:
    given: list[Coroutine[Any, Any, int]] = []

    def call_and_record(n: int) -> Any:
        given.append(RETURNS[function](n))
        return given[-1]

    stream: pyrs.Stream[Any] = SOURCES[source](1, 2).map(call_and_record)
    if then:
        stream = getattr(stream, then)(str)
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    stream.subscribe(subscriber)
    error = subscriber.assert_elements().await_error(TypeError)
    assert str(error).startswith("the function returned a coroutine, and nothing awaits it here: pass the")
    (note,) = notes_of(error)
    assert note.startswith("in map(")
    assert __file__ in note
    (coroutine,) = given
    with pytest.raises(RuntimeError, match="cannot reuse"):
        coroutine.send(None)


def test_every_subscriber_receives_the_error_and_upstream_is_cancelled() -> None:
    source: TestPublisher[int] = TestPublisher()
    stream = source.stream().map(lambda n: double(n))
    for _ in range(2):
        subscriber: TestSubscriber[Any] = TestSubscriber(None)
        stream.subscribe(subscriber)
        source.next(1)
        subscriber.assert_elements().await_error(TypeError)
    source.assert_cancelled(2)


@pytest.mark.parametrize("source", SOURCES)
def test_other_results_are_forwarded_including_none_between_stages(source: str) -> None:
    stream = SOURCES[source](1, 2, 3).map(lambda n: None if n == 1 else n).map(str)
    assert stream.collect() == ["None", "2", "3"]
    assert SOURCES[source]().map(str).collect() == []


@pytest.mark.parametrize("index", [0, 1])
def test_stop_iteration_of_a_function_signals_on_error(index: int) -> None:
    def raise_stop_iteration(n: int) -> int:
        if n == index:
            raise StopIteration
        return n

    subscriber: TestSubscriber[int] = TestSubscriber(None)
    pyrs.range(3).map(raise_stop_iteration).subscribe(subscriber)
    error = subscriber.assert_elements(*range(index)).await_error(RuntimeError)
    assert str(error) == "a function of this stream raised StopIteration"
    assert [note.startswith("in map(") for note in notes_of(error)] == [True]


def test_map_pulls_and_calls_only_for_demand() -> None:
    calls: list[object] = []

    def numbers() -> Any:
        for n in range(4):
            calls.append(("pulled", n))
            yield n

    def same(n: int) -> int:
        calls.append(n)
        return n

    subscriber: TestSubscriber[int] = TestSubscriber(0)
    pyrs.from_iterable(numbers()).map(same).subscribe(subscriber)
    for n in range(4):
        assert len(calls) == 2 * n
        subscriber.request(1)
        assert calls[2 * n :] == [("pulled", n), n]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("function", AWAITED)
def test_map_awaits_every_kind_of_coroutine_function(source: str, function: str) -> None:
    assert SOURCES[source](1, 2).map(AWAITED[function]).collect(timeout=DEADLINE) == [2, 4]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("function", RETURNS)
def test_for_each_raises_at_the_first_coroutine(source: str, function: str) -> None:
    given: list[Any] = []

    def call_and_record(n: int) -> Any:
        given.append(RETURNS[function](n))
        return given[-1]

    with pytest.raises(TypeError, match="returned a coroutine, and nothing awaits it here: pass the coroutine"):
        SOURCES[source](1, 2).for_each(call_and_record)
    assert len(given) == 1


@pytest.mark.parametrize("function", AWAITED)
def test_for_each_awaits_every_kind_of_coroutine_function(function: str) -> None:
    async def main() -> None:
        await asyncio.wait_for(pyrs.range(3).for_each(AWAITED[function]), DEADLINE)

    awaited.clear()
    asyncio.run(main())
    assert awaited == [0, 1, 2]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="inspect.markcoroutinefunction requires Python 3.12")
def test_function_marked_as_coroutine_function_is_awaited() -> None:
    import inspect

    marked = inspect.markcoroutinefunction(decorated(double))  # type: ignore[attr-defined,unused-ignore]
    assert pyrs.range(3).map(marked).collect(timeout=DEADLINE) == [0, 2, 4]
    assert pyrs.range(3).map(functools.partial(marked)).collect(timeout=DEADLINE) == [0, 2, 4]
    with pytest.raises(TypeError, match="predicate must be a plain function"):
        pyrs.range(3).filter(marked)


def test_function_marked_with_the_asyncio_marker_is_awaited() -> None:
    marked = decorated(double)
    marked._is_coroutine = getattr(asyncio.coroutines, "_is_coroutine", None)  # type: ignore[attr-defined]
    if marked._is_coroutine is None:  # type: ignore[attr-defined]
        pytest.skip("this Python has no such marker")
    assert pyrs.range(3).map(marked).collect(timeout=DEADLINE) == [0, 2, 4]


@pytest.mark.parametrize("source", SOURCES)
def test_handle_rejects_a_returned_coroutine(source: str) -> None:
    with pytest.raises(TypeError, match="the function returned a coroutine, and nothing awaits it here") as raised:
        SOURCES[source](1, 2).handle(lambda n, sink: double(n)).collect(timeout=DEADLINE)
    assert "in handle(" in notes_of(raised.value)[0]
