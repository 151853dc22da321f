"""async for and iterate: exact demand, threads, fairness and cancellation."""

from __future__ import annotations

import asyncio
import itertools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import pyrs
from pyrs.aio import iteration
from pyrs.aio.iteration import _Inbox
from pyrs.aio.waking import AsyncioWaker
from pyrs.testing import BlockedLoop, TestPublisher
from tests.waiting import DEADLINE

Source = Callable[[Iterable[Any]], pyrs.Stream[Any]]
Wrap = Callable[[Any], pyrs.Stream[Any]]


def test_async_for_receives_every_element(source: Source, threaded: Wrap) -> None:
    async def main(stream: pyrs.Stream[int]) -> list[int]:
        return [n async for n in stream]

    assert asyncio.run(main(source(range(500)))) == list(range(500))
    assert asyncio.run(main(threaded(source(range(500))))) == list(range(500))


def test_iterate_with_prefetch_receives_elements_of_another_thread(threaded: Wrap) -> None:
    async def main() -> list[int]:
        async with threaded(pyrs.range(20_000)).iterate(prefetch=256) as numbers:
            return [n async for n in numbers]

    assert asyncio.run(main()) == list(range(20_000))


def test_async_for_requests_one_element_at_a_time() -> None:
    async def main() -> None:
        source: TestPublisher[Any] = TestPublisher()
        items = source.stream().__aiter__()
        waiting = asyncio.ensure_future(items.__anext__())
        await asyncio.sleep(0)
        assert source.requests == [1]
        source.next("a")
        assert await waiting == "a"
        await asyncio.sleep(0)
        assert source.requests == [1], "nothing is requested before the next __anext__"
        waiting = asyncio.ensure_future(items.__anext__())
        await asyncio.sleep(0)
        assert source.requests == [1, 1]
        source.complete()
        with pytest.raises(StopAsyncIteration):
            await waiting

    asyncio.run(main())


def test_batch_from_another_thread_wakes_the_loop_once(no_blocked_loop: list[BlockedLoop]) -> None:
    async def main() -> int:
        loop = asyncio.get_running_loop()
        wakes = 0
        threadsafe = loop.call_soon_threadsafe

        def counting_call(callback: Any, *arguments: Any, **options: Any) -> Any:
            nonlocal wakes
            wakes += 1
            return threadsafe(callback, *arguments, **options)

        source: TestPublisher[Any] = TestPublisher()
        items = source.stream().iterate(prefetch=1_000)
        async with items as elements:
            waiting = asyncio.ensure_future(elements.__anext__())
            await asyncio.sleep(0)
            loop.call_soon_threadsafe = counting_call  # type: ignore[method-assign]
            sender = threading.Thread(target=lambda: [source.next(n) for n in range(500)])
            sender.start()
            sender.join(DEADLINE)  # blocks the loop
            loop.call_soon_threadsafe = threadsafe  # type: ignore[method-assign]
            received = [await waiting, *[await elements.__anext__() for _ in range(499)]]
            assert received == list(range(500))
        source.assert_cancelled(1)
        return wakes

    assert asyncio.run(main()) == 1
    no_blocked_loop.clear()  # the join above blocks the loop


def test_error_follows_the_elements() -> None:
    async def main() -> None:
        source: TestPublisher[Any] = TestPublisher()
        async with source.stream().iterate(prefetch=5) as elements:
            waiting = asyncio.ensure_future(elements.__anext__())
            await asyncio.sleep(0)
            for n in range(3):
                source.next(n)
            source.error(ValueError("end"))
            assert [await waiting, await elements.__anext__(), await elements.__anext__()] == [0, 1, 2]
            with pytest.raises(ValueError, match="end"):
                await elements.__anext__()
        source.assert_not_cancelled()  # a terminal signal preceded the end of the block (2.4)

    asyncio.run(main())


def test_leaving_the_iterate_block_cancels() -> None:
    async def main() -> None:
        source: TestPublisher[Any] = TestPublisher()
        async with source.stream().iterate() as elements:
            waiting = asyncio.ensure_future(elements.__anext__())
            await asyncio.sleep(0)
            source.next(1)
            await waiting
        source.assert_cancelled(1)

    asyncio.run(main())


def test_cancelled_task_cancels_upstream() -> None:
    async def main() -> None:
        source: TestPublisher[Any] = TestPublisher()

        async def consume() -> None:
            async for _ in source.stream():
                pass

        task = asyncio.ensure_future(consume())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        source.assert_cancelled(1)

    asyncio.run(main())


def test_break_cancels_when_the_iterator_is_finalized() -> None:
    source: TestPublisher[Any] = TestPublisher()

    async def main() -> None:
        async for _ in source.stream():
            break

    async def send() -> None:
        task = asyncio.ensure_future(main())
        await asyncio.sleep(0)
        source.next(1)
        await task

    asyncio.run(send())
    source.assert_cancelled(1)


def test_signal_to_a_closed_loop_cancels_upstream() -> None:
    loop = asyncio.new_event_loop()
    waker = AsyncioWaker(loop)
    inbox: _Inbox[int] = _Inbox(waker, 1)
    source: TestPublisher[Any] = TestPublisher()
    source.subscribe(inbox)
    waiting = loop.create_task(waker.wait(inbox.is_ready))
    loop.run_until_complete(asyncio.sleep(0))
    waiter = waker._waiter
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(waiting)
    waker._waiter, waker.waiting = waiter, True  # the state that a concurrent signal has already read
    loop.close()
    source.next(1)
    source.assert_cancelled(1)


def test_other_tasks_run_although_an_element_arrives_before_each_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wait with a pending element returns without yielding to the loop."""
    source: TestPublisher[int] = TestPublisher()
    pauses: list[int] = []

    class ImmediateWaker:
        waiting = False
        count = 0

        async def wait(self, is_ready: Callable[[], object]) -> None:
            self.count += 1
            source.next(self.count)

        def wake(self) -> bool:
            return True

        async def pause(self) -> None:
            pauses.append(self.count)

    monkeypatch.setattr(iteration, "current_waker", ImmediateWaker)

    async def main() -> None:
        async for n in source.stream():
            if n == 600:
                return

    asyncio.run(main())
    assert pauses == [128, 256, 384, 512]


def test_other_tasks_run_during_async_for() -> None:
    async def main() -> bool:
        ran = asyncio.Event()
        asyncio.get_running_loop().call_soon(ran.set)
        async for n in pyrs.range(100_000):
            if ran.is_set():
                return n < 1_000
        return False

    assert asyncio.run(main())


def no_task() -> None:
    raise RuntimeError("must be called from async context")


@pytest.mark.parametrize(
    "trio",
    [SimpleNamespace(lowlevel=SimpleNamespace(current_task=no_task)), SimpleNamespace()],
    ids=["before 0.27", "partially imported"],
)
def test_await_on_asyncio_works_with_any_imported_trio(trio: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trio", trio)

    async def main() -> list[int]:
        return await pyrs.range(3).to_list()

    assert asyncio.run(main()) == [0, 1, 2]


def test_several_consumers_share_one_loop(threaded: Wrap) -> None:
    async def total(stream: pyrs.Stream[int]) -> int:
        result = 0
        async for n in stream:
            result += n
        return result

    async def main() -> list[int]:
        return await asyncio.gather(*[total(threaded(pyrs.range(100))) for _ in range(20)])

    assert asyncio.run(main()) == [4950] * 20


@pytest.mark.parametrize(
    "operation",
    [
        lambda stream: stream.first(),
        lambda stream: stream.to_list(),
        lambda stream: stream.for_each(never_called),
        lambda stream: stream.iterate().__aenter__(),
    ],
    ids=["first", "to_list", "for_each", "iterate"],
)
def test_filter_that_rejects_everything_does_not_block_the_loop(operation: Any) -> None:
    async def main() -> None:
        async def wait() -> None:
            result = await operation(pyrs.from_iterable(itertools.count()).filter(lambda n: n < 0))
            await anext(result)

        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(wait(), 0.05)

    asyncio.run(main())


async def never_called(n: int) -> None:
    raise AssertionError(n)


def test_iterate_pulls_elements_on_demand_through_a_filter() -> None:
    pulled: list[int] = []

    def source() -> Iterator[int]:
        for n in range(100):
            pulled.append(n)
            yield n

    async def main() -> None:
        async with pyrs.from_iterable(source()).filter(lambda n: n % 3 == 0).iterate() as numbers:
            assert [await anext(numbers), await anext(numbers)] == [0, 3]
        assert pulled == [0, 1, 2, 3]

    asyncio.run(main())
