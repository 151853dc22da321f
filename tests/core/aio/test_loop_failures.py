"""The edge to asyncio where it breaks: loops that are closed, tasks that are cancelled, many loops, exits, forks."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
import pytest

import pyrs
from pyrs.aio.loops import background_loop
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.conftest import Dropped, Hidden
from tests.waiting import collected

DEADLINE = 20.0


@pytest.fixture(autouse=True)
def nothing_left_behind(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail on what asyncio logs: a task that was destroyed, an exception that nobody retrieved."""
    collect_all()  # what other tests left is not said of this one
    with caplog.at_level(logging.WARNING, logger="asyncio"):
        yield
        collect_all()
    records = caplog.get_records("call") + caplog.get_records("teardown")
    assert [record.getMessage() for record in records if record.name == "asyncio"] == []


def collect_all() -> None:
    before = gc.get_stats()[-1]["collections"]
    collected(lambda: gc.get_stats()[-1]["collections"] > before)


async def for_ever(n: int = 0) -> int:
    await asyncio.Event().wait()
    return n


async def waiting() -> AsyncIterator[int]:
    await asyncio.Event().wait()
    yield 1


async def pushing(emitter: pyrs.Emitter[int]) -> None:
    await asyncio.Event().wait()


async def turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def until(condition: Callable[[], object]) -> None:
    """Turn the loop until the condition holds. Without wait_for, which is a task more up to Python 3.11."""
    deadline = asyncio.get_running_loop().time() + DEADLINE
    while not condition():
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0)


SOURCES: dict[str, Callable[[], pyrs.Stream[Any]]] = {
    "map": lambda: pyrs.range(5).map(for_ever, concurrency=2),
    "from_async_iterable": lambda: pyrs.from_async_iterable(waiting()),
    "from_awaitable": lambda: pyrs.from_awaitable(for_ever),
    "create": lambda: pyrs.create(pushing),
}


def abandoned_loop(main: Callable[[], Any]) -> asyncio.AbstractEventLoop:
    """Run a few turns of main on a loop, then close that, as nobody should."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(main())
    loop.run_until_complete(turns())
    loop.close()
    if not task.done():
        # Whoever closes a loop like that loses its tasks; that is said of this one, and not of one of ours.
        task._log_destroy_pending = False  # type: ignore[attr-defined]
    return loop


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("after", [0, 1, 3])
def test_the_end_of_asyncio_run_is_an_error_of_what_runs_there(source: str, after: int) -> None:
    """Also where it ends in the very turn in which somebody subscribes."""
    subscriber: TestSubscriber[Any] = TestSubscriber(None)

    async def main() -> None:
        SOURCES[source]().subscribe(subscriber)
        await turns(after)

    asyncio.run(main())
    assert "cancelled" in str(subscriber.assert_error(RuntimeError))


@pytest.mark.parametrize("source", SOURCES)
def test_an_exit_on_the_background_loop_ends_its_stream_and_no_other(source: str, dropped: Dropped) -> None:
    async def leave(*_: Any) -> int:
        sys.exit(3)

    async def leaving() -> AsyncIterator[int]:
        yield await leave()

    streams: dict[str, pyrs.Stream[Any]] = {
        "map": pyrs.just(1).map(leave),
        "from_async_iterable": pyrs.from_async_iterable(leaving()),
        "from_awaitable": pyrs.from_awaitable(leave),
        "create": pyrs.create(leave),
    }
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    streams[source].subscribe(subscriber)
    subscriber.await_error(SystemExit)

    async def same(n: int) -> int:
        return n

    assert pyrs.range(3).map(same).collect(timeout=DEADLINE) == [0, 1, 2]
    assert background_loop().is_running()
    assert all(isinstance(error, SystemExit) for error in dropped.take())


def test_a_signal_for_a_closed_loop_cancels_from_its_own_thread_and_from_others() -> None:
    for elsewhere in (False, True):
        source: TestPublisher[int] = TestPublisher()

        async def iterate(source: TestPublisher[int] = source) -> None:
            async for _ in pyrs.Stream(source):
                pass

        abandoned_loop(iterate)
        if elsewhere:
            thread = threading.Thread(target=source.next, args=(1,))
            thread.start()
            thread.join(DEADLINE)
        else:
            source.next(1)
        source.assert_cancelled()


def test_demand_for_an_asynchronous_iterable_on_a_closed_loop_is_an_error() -> None:
    subscriber: TestSubscriber[int] = TestSubscriber()

    async def numbers() -> AsyncIterator[int]:
        for n in range(3):
            yield n

    async def main() -> None:
        pyrs.from_async_iterable(numbers()).subscribe(subscriber)
        subscriber.request(1)
        await turns()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    subscriber.assert_elements(0)
    for task in asyncio.all_tasks(loop):
        task._log_destroy_pending = False  # type: ignore[attr-defined]
    loop.close()
    subscriber.request(1)
    subscriber.assert_error(RuntimeError)


def test_elements_for_map_when_the_loop_is_closed_are_an_error() -> None:
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber(None)

    async def main() -> None:
        pyrs.Stream(source).map(for_ever).subscribe(subscriber)

    asyncio.run(main())
    source.next(1)
    subscriber.assert_error(RuntimeError)
    source.assert_cancelled()


class TestFutures:
    def closed(self) -> tuple[asyncio.Future[int], asyncio.Future[int]]:
        loop = asyncio.new_event_loop()
        pending, done = loop.create_future(), loop.create_future()
        done.set_result(1)
        loop.close()
        return pending, done

    @pytest.mark.parametrize("cancel", [True, False])
    def test_of_a_closed_loop(self, cancel: bool) -> None:
        pending, done = self.closed()
        subscriber: TestSubscriber[int] = TestSubscriber()
        pyrs.from_future(done, cancel=cancel).subscribe(subscriber)
        subscriber.request(1)
        subscriber.assert_elements(1).assert_complete()
        failed: TestSubscriber[int] = TestSubscriber()
        pyrs.from_future(pending, cancel=cancel).subscribe(failed)
        assert "closed" in str(failed.assert_error(RuntimeError))

    @pytest.mark.parametrize("cancel", [True, False])
    def test_whose_loop_is_closed_later(self, cancel: bool) -> None:
        loop = asyncio.new_event_loop()
        subscriber: TestSubscriber[int] = TestSubscriber()
        pyrs.from_future(loop.create_future(), cancel=cancel).subscribe(subscriber)
        loop.run_until_complete(turns())
        loop.close()
        subscriber.request(1)  # returns normally (3.16), and so does the cancel (3.15)
        subscriber.cancel()
        subscriber.assert_live()

    def test_a_coroutine_object_can_be_awaited_once(self) -> None:
        async def one() -> int:
            return 1

        single = pyrs.from_awaitable(one())
        assert single.block(DEADLINE) == 1
        with pytest.raises(RuntimeError, match="already awaited"):
            single.block(DEADLINE)

    def test_a_function_that_returns_no_awaitable(self) -> None:
        with pytest.raises(TypeError, match="await"):
            pyrs.from_awaitable(lambda: 3).block(DEADLINE)  # type: ignore[arg-type, return-value]

    def test_a_future_of_another_loop(self) -> None:
        loop = asyncio.new_event_loop()
        future = loop.create_future()
        try:
            with pytest.raises(RuntimeError, match="attached to a different loop"):
                pyrs.from_awaitable(future).block(DEADLINE)
        finally:
            loop.close()


class TestCoroutineSubscriber:
    def test_one_that_cancels_leaves_no_task(self) -> None:
        class Once:
            async def on_subscribe(self, subscription: pyrs.Subscription) -> None:
                self.subscription = subscription
                subscription.request(5)

            async def on_next(self, element: int) -> None:
                self.subscription.cancel()
                self.subscription.request(1)  # 3.6: nothing

            def on_error(self, error: BaseException) -> None:
                raise error

            def on_complete(self) -> None:
                raise AssertionError("it was cancelled")

        async def main() -> None:
            source: TestPublisher[int] = TestPublisher()
            source.stream().subscribe(Once())
            await turns()
            source.next(1, 2)
            await until(lambda: len(asyncio.all_tasks()) == 1)  # this one
            source.assert_cancelled(1)

        asyncio.run(main())

    def test_one_whose_loop_ends(self) -> None:
        class Never:
            async def on_subscribe(self, subscription: pyrs.Subscription) -> None:
                await asyncio.Event().wait()

            async def on_next(self, element: int) -> None: ...
            def on_error(self, error: BaseException) -> None: ...
            def on_complete(self) -> None: ...

        source: TestPublisher[int] = TestPublisher()

        async def main() -> None:
            source.stream().subscribe(Never())

        asyncio.run(main())
        source.assert_cancelled()


class TestIteration:
    @pytest.mark.parametrize("wrap", [pyrs.Stream, lambda stream: pyrs.Stream(Hidden(stream))])
    def test_broken_off_it_cancels_when_the_iterator_is_finalised(self, wrap: Any) -> None:
        async def main() -> None:
            cancelled = asyncio.Event()
            async for _ in wrap(pyrs.range(10).do_on_cancel(cancelled.set)):
                break
            await asyncio.wait_for(cancelled.wait(), DEADLINE)

        asyncio.run(main())

    def test_iterate_cancels_before_the_block_is_left(self) -> None:
        async def main() -> None:
            source: TestPublisher[int] = TestPublisher()
            with contextlib.suppress(ValueError):
                async with source.stream().iterate(prefetch=4) as elements:
                    first = asyncio.ensure_future(anext(elements))
                    await turns()
                    source.next(1)
                    assert await asyncio.wait_for(first, DEADLINE) == 1
                    raise ValueError
            source.assert_cancelled(1)

        asyncio.run(main())

    def test_a_timeout_around_an_element_ends_the_iteration(self) -> None:
        async def main() -> None:
            source: TestPublisher[int] = TestPublisher()
            elements = aiter(source.stream())
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(anext(elements), 0.01)
            source.assert_cancelled(1)

        asyncio.run(main())

    def test_ctrl_c_cancels_upstream(self) -> None:
        source: TestPublisher[int] = TestPublisher()

        async def main() -> None:
            asyncio.get_running_loop().call_soon(_interrupt)
            await source.stream().to_list()

        with pytest.raises(KeyboardInterrupt):
            asyncio.run(main())
        source.assert_cancelled()

    def test_many_loops_in_many_threads(self) -> None:
        async def double(n: int) -> int:
            await asyncio.sleep(0)
            return 2 * n

        found: list[list[int]] = []

        def run() -> None:
            async def main() -> list[int]:
                threaded = pyrs.range(300).publish_on(pyrs.schedulers.default())
                return await threaded.map(double, concurrency=4).to_list()

            for _ in range(3):
                found.append(asyncio.run(main()))

        threads = [threading.Thread(target=run) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(100)
        assert found == [list(range(0, 600, 2))] * 18


class TestGenerators:
    def test_one_that_swallows_the_cancellation_is_let_go(self, dropped: Dropped) -> None:
        async def main() -> None:
            state: list[str] = []

            async def stubborn() -> AsyncIterator[int]:
                while True:
                    try:
                        await asyncio.Event().wait()
                    except asyncio.CancelledError:
                        state.append("swallowed")
                        yield 1

            class Stubborn:
                def __aiter__(self) -> AsyncIterator[int]:
                    return stubborn()

            subscriber: TestSubscriber[int] = TestSubscriber(None)
            pyrs.from_async_iterable(Stubborn()).subscribe(subscriber)
            await turns()
            subscriber.cancel()
            await until(lambda: len(asyncio.all_tasks()) == 1)
            assert (state, subscriber.elements, dropped.elements) == (["swallowed"], [], 1)

        asyncio.run(main())

    def test_one_that_raises_as_it_is_cancelled_is_reported(self, dropped: Dropped) -> None:
        async def main() -> None:
            wrong = ValueError("in the clean-up")

            async def failing() -> AsyncIterator[int]:
                try:
                    await asyncio.Event().wait()
                    yield 1
                finally:
                    raise wrong

            subscriber: TestSubscriber[int] = TestSubscriber(None)
            pyrs.from_async_iterable(failing()).subscribe(subscriber)
            await turns()
            subscriber.cancel()
            await until(lambda: len(asyncio.all_tasks()) == 1)
            assert dropped.take() == [wrong]

        asyncio.run(main())


def test_forty_thousand_elements_through_map_keep_memory_bounded() -> None:
    async def same(n: int) -> int:
        await asyncio.sleep(0)
        return n

    async def main(count: int) -> int:
        return await pyrs.range(count).map(same, concurrency=32, ordered=False).count()

    asyncio.run(main(1_000))  # what is imported and cached is not counted
    gc.collect()
    tracemalloc.start()
    try:
        assert asyncio.run(main(40_000)) == 40_000
        assert tracemalloc.get_traced_memory()[1] < 450_000  # ten bytes an element would be more
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_has_a_background_loop_of_its_own() -> None:
    """In a process of its own, whose only other thread is the loop's."""
    program = """
import os, pyrs, warnings
warnings.simplefilter("ignore", DeprecationWarning)
async def same(n): return n
assert pyrs.range(3).map(same).collect(timeout=20) == [0, 1, 2]
child = os.fork()
found = pyrs.range(4).map(same).collect(timeout=20)
if not child: os._exit(0 if found == [0, 1, 2, 3] else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert (run.returncode, run.stderr) == (0, "")


class TestTrio:
    def test_a_guest_on_an_asyncio_loop_waits_as_trio_does(self) -> None:
        trio = pytest.importorskip("trio")
        found: list[int] = []

        async def guest() -> None:
            async for n in pyrs.range(50).publish_on(pyrs.schedulers.default()):
                found.append(n)

        async def main() -> None:
            loop, done = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()
            trio.lowlevel.start_guest_run(
                guest, run_sync_soon_threadsafe=loop.call_soon_threadsafe, done_callback=done.set_result
            )
            (await asyncio.wait_for(done, DEADLINE)).unwrap()

        asyncio.run(main())
        assert found == list(range(50))

    def test_one_action_at_a_time(self) -> None:
        seen: list[int] = []

        async def see(n: int) -> None:
            await anyio.sleep(0)
            seen.append(n)

        async def main() -> None:
            await pyrs.range(3).for_each(see)
            with pytest.raises(RuntimeError, match="concurrency needs an asyncio loop"):
                await pyrs.range(3).for_each(see, concurrency=2)

        anyio.run(main, backend="trio")
        assert seen == [0, 1, 2]


def _interrupt() -> None:
    raise KeyboardInterrupt
