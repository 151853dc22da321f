"""Blocking endings where an asyncio loop runs on the thread, as in a notebook's cell: they must not wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

import pyrs
from pyrs.adapters.queues import from_queue
from tests.core.conftest import Hidden

DEADLINE = 20.0


async def double(n: int) -> int:
    await asyncio.sleep(0)
    return 2 * n


async def numbers() -> AsyncIterator[int]:
    for n in range(3):
        await asyncio.sleep(0)
        yield 2 * n


async def push(emitter: pyrs.Emitter[int]) -> None:
    async for n in numbers():
        emitter.next(n)
    emitter.complete()


STREAMS: dict[str, Callable[[], pyrs.Stream[int]]] = {
    "map": lambda: pyrs.range(3).map(double),
    "flat_map": lambda: pyrs.range(3).flat_map(double, concurrency=1),
    "concat_map": lambda: pyrs.range(3).concat_map(double),
    "merge": lambda: pyrs.merge(pyrs.just(0), pyrs.just(1, 2).map(double)),
    "concat": lambda: pyrs.concat(pyrs.just(0), pyrs.just(1).map(double), pyrs.just(2).map(double)),
    "from_async_iterable": lambda: pyrs.from_async_iterable(numbers()),
    "from_awaitable": lambda: pyrs.from_awaitable(lambda: double(0)).concat(pyrs.just(2, 4)),
    "create": lambda: pyrs.create(push),
    "defer": lambda: pyrs.defer(lambda: pyrs.range(3).map(double)),
}
ENDINGS: dict[str, Callable[[pyrs.Stream[int]], list[int]]] = {
    "collect": lambda stream: stream.collect(timeout=DEADLINE),
    "block": lambda stream: stream.to_list().block(DEADLINE),
    "to_iterable": lambda stream: list(stream.to_iterable(timeout=DEADLINE)),
    "to_iterable, one by one": lambda stream: list(stream.to_iterable(prefetch=1, timeout=DEADLINE)),
    "for_each": lambda stream: _each(stream),
}


def _each(stream: pyrs.Stream[int]) -> list[int]:
    seen: list[int] = []
    stream.for_each(seen.append, timeout=DEADLINE)
    return seen


def in_a_cell(function: Callable[[], Any]) -> Any:
    async def cell() -> Any:
        return function()

    return asyncio.run(cell())


@pytest.mark.parametrize("build", STREAMS.values(), ids=STREAMS)
@pytest.mark.parametrize("end", ENDINGS.values(), ids=ENDINGS)
def test_it_ends_where_a_loop_runs(
    build: Callable[[], pyrs.Stream[int]], end: Callable[[pyrs.Stream[int]], list[int]]
) -> None:
    assert sorted(in_a_cell(lambda: end(build()))) == [0, 2, 4]


def test_what_is_started_afterwards_is_on_the_loop_again() -> None:
    async def where(_: int) -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    async def cell() -> None:
        [waited_for] = pyrs.just(1).map(where).collect(timeout=DEADLINE)
        here = asyncio.get_running_loop()
        assert waited_for is not here
        iterator = pyrs.just(1, 2).map(where).to_iterable(prefetch=1, timeout=DEADLINE)
        assert next(iterator) is waited_for
        assert await pyrs.just(1).map(where).first() is here  # while the iterator is open, too
        assert next(iterator) is waited_for

    asyncio.run(cell())


async def _future() -> pyrs.Stream[int]:
    return pyrs.from_future(asyncio.get_running_loop().create_future())


async def _loop() -> pyrs.Stream[int]:
    return pyrs.from_async_iterable(numbers(), loop=asyncio.get_running_loop())


async def _queue() -> pyrs.Stream[int]:
    queue: asyncio.Queue[int] = asyncio.Queue()
    return from_queue(queue)


@pytest.mark.parametrize("build", [_future, _loop, _queue])
def test_what_needs_the_loop_that_waits_is_refused(build: Callable[[], Coroutine[Any, Any, pyrs.Stream[int]]]) -> None:
    async def cell() -> None:
        stream = await build()
        with pytest.raises(RuntimeError, match="await the stream there"):
            stream.collect(timeout=DEADLINE)

    asyncio.run(cell())


def test_a_future_of_the_loop_that_is_done_is_not() -> None:
    async def cell() -> None:
        future = asyncio.get_running_loop().create_future()
        future.set_result(5)
        assert pyrs.from_future(future).block(DEADLINE) == 5

    asyncio.run(cell())


def test_nor_does_the_background_loop_wait_for_itself() -> None:
    async def nested(n: int) -> int:
        with pytest.raises(RuntimeError, match="await the stream there"):
            pyrs.just(n).map(double).collect(timeout=DEADLINE)
        return n

    assert pyrs.just(1).map(nested).collect(timeout=DEADLINE) == [1]


def test_a_publisher_of_others_that_signals_where_it_is_asked() -> None:
    assert in_a_cell(lambda: pyrs.Stream(Hidden(pyrs.range(3))).flat_map(double).collect(timeout=DEADLINE)) == [0, 2, 4]
