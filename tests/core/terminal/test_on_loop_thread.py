"""Blocking terminal operations do not deadlock on a running asyncio loop."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from types import ModuleType
from typing import Any

import pytest

import pyrs
from pyrs import schedulers, sinks
from pyrs.adapters.queues import from_queue
from pyrs.testing import TestSubscriber
from tests.core.conftest import Hidden
from tests.waiting import DEADLINE


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
TERMINAL_OPERATIONS: dict[str, Callable[[pyrs.Stream[int]], list[int]]] = {
    "collect": lambda stream: stream.collect(timeout=DEADLINE),
    "block": lambda stream: stream.to_list().block(DEADLINE),
    "to_iterable": lambda stream: list(stream.to_iterable(timeout=DEADLINE)),
    "to_iterable with prefetch=1": lambda stream: list(stream.to_iterable(prefetch=1, timeout=DEADLINE)),
    "for_each": lambda stream: _for_each(stream),
}


def _for_each(stream: pyrs.Stream[int]) -> list[int]:
    seen: list[int] = []
    stream.for_each(seen.append, timeout=DEADLINE)
    return seen


def run_inside_a_loop(function: Callable[[], Any]) -> Any:
    async def main() -> Any:
        return function()

    return asyncio.run(main())


@pytest.mark.parametrize("build", STREAMS.values(), ids=STREAMS)
@pytest.mark.parametrize("run", TERMINAL_OPERATIONS.values(), ids=TERMINAL_OPERATIONS)
def test_terminal_operation_returns_on_a_thread_with_a_running_loop(
    build: Callable[[], pyrs.Stream[int]], run: Callable[[pyrs.Stream[int]], list[int]]
) -> None:
    assert sorted(run_inside_a_loop(lambda: run(build()))) == [0, 2, 4]


def test_coroutines_after_a_blocking_operation_run_on_the_callers_loop() -> None:
    async def get_loop(_: int) -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    async def main() -> None:
        [background] = pyrs.just(1).map(get_loop).collect(timeout=DEADLINE)
        here = asyncio.get_running_loop()
        assert background is not here
        iterator = pyrs.just(1, 2).map(get_loop).to_iterable(prefetch=1, timeout=DEADLINE)
        assert next(iterator) is background
        assert await pyrs.just(1).map(get_loop).first() is here  # also while the iterator is open
        assert next(iterator) is background

    asyncio.run(main())


async def _future() -> pyrs.Stream[int]:
    return pyrs.from_future(asyncio.get_running_loop().create_future())


async def _loop() -> pyrs.Stream[int]:
    return pyrs.from_async_iterable(numbers(), loop=asyncio.get_running_loop())


async def _queue() -> pyrs.Stream[int]:
    queue: asyncio.Queue[int] = asyncio.Queue()
    return from_queue(queue)


async def _publish_on() -> pyrs.Stream[int]:
    return pyrs.just(1).publish_on(schedulers.asyncio())


async def _subscribe_on() -> pyrs.Stream[int]:
    return pyrs.just(1).subscribe_on(schedulers.asyncio())


async def _inner() -> pyrs.Stream[int]:
    scheduler = schedulers.asyncio()
    return pyrs.just(1).flat_map(lambda n: pyrs.just(n).publish_on(scheduler))


async def _interval() -> pyrs.Stream[int]:
    return pyrs.interval(0.01, scheduler=schedulers.asyncio())


async def _timeout() -> pyrs.Stream[int]:
    return pyrs.never().timeout(0.01, scheduler=schedulers.asyncio())


@pytest.mark.parametrize("build", [_future, _loop, _queue, _publish_on, _subscribe_on, _inner, _interval, _timeout])
def test_blocking_on_a_source_of_the_blocked_loop_raises(
    build: Callable[[], Coroutine[Any, Any, pyrs.Stream[int]]],
) -> None:
    async def main() -> None:
        stream = await build()
        with pytest.raises(RuntimeError, match="await the stream instead"):
            stream.collect(timeout=DEADLINE)

    asyncio.run(main())


def test_rule_1_9_submission_publisher_of_the_blocked_loop_signals_on_error() -> None:
    async def main() -> None:
        publisher: sinks.SubmissionPublisher[int] = sinks.SubmissionPublisher(schedulers.asyncio())
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        pyrs.just(1).do_on_next(lambda _: publisher.subscribe(subscriber)).collect(timeout=DEADLINE)
        subscriber.assert_error(RuntimeError)

    asyncio.run(main())


def test_other_streams_of_the_blocked_loop_continue_after_it() -> None:
    async def main() -> None:
        scheduler = schedulers.asyncio()
        sink: sinks.Sink[int] = sinks.multicast()
        emitted: TestSubscriber[int] = TestSubscriber(None)
        debounced: TestSubscriber[int] = TestSubscriber(None)
        sink.stream.publish_on(scheduler).subscribe(emitted)
        sink.stream.debounce(0.001, scheduler=scheduler).subscribe(debounced)
        assert pyrs.range(3).do_on_next(sink.emit).collect(timeout=DEADLINE) == [0, 1, 2]
        sink.emit_complete()
        await asyncio.to_thread(lambda: (emitted.await_complete(), debounced.await_complete()))
        emitted.assert_elements(0, 1, 2)
        debounced.assert_elements(2)

    asyncio.run(main())


def test_blocking_on_a_completed_future_of_the_loop_is_allowed() -> None:
    async def main() -> None:
        future = asyncio.get_running_loop().create_future()
        future.set_result(5)
        assert pyrs.from_future(future).block(DEADLINE) == 5

    asyncio.run(main())


def test_blocking_on_the_background_loop_raises() -> None:
    async def nested(n: int) -> int:
        with pytest.raises(RuntimeError, match="await the stream instead"):
            pyrs.just(n).map(double).collect(timeout=DEADLINE)
        return n

    assert pyrs.just(1).map(nested).collect(timeout=DEADLINE) == [1]


def test_blocking_on_a_foreign_synchronous_publisher_is_allowed() -> None:
    assert run_inside_a_loop(lambda: pyrs.Stream(Hidden(pyrs.range(3))).flat_map(double).collect(timeout=DEADLINE)) == [
        0,
        2,
        4,
    ]


@pytest.mark.parametrize("run", TERMINAL_OPERATIONS.values(), ids=TERMINAL_OPERATIONS)
def test_a_loop_that_a_function_of_the_stream_runs_is_not_blocked(
    run: Callable[[pyrs.Stream[int]], list[int]],
) -> None:
    async def main(n: int) -> int:
        loop, future = asyncio.get_running_loop(), asyncio.Future[int]()

        async def add(element: int) -> int:
            assert asyncio.get_running_loop() is loop
            loop.call_soon(future.set_result, n)
            return element + await future

        return await pyrs.just(n).map(add).single() + await pyrs.from_future(future) - n

    assert run(pyrs.range(3).map(lambda n: asyncio.run(main(n)))) == [0, 2, 4]


def test_stream_runs_while_another_thread_imports_asyncio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncio", ModuleType("asyncio"))
    stream = pyrs.range(2).flat_map(lambda n: pyrs.just(n, n))
    subscriber: TestSubscriber[int] = TestSubscriber(None)
    stream.subscribe(subscriber)
    assert subscriber.await_complete() == stream.collect(timeout=DEADLINE) == [0, 0, 1, 1]
