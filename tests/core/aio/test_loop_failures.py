"""asyncio failures: closed loops, cancelled tasks, process exits and forks."""

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
from tests.rounds import rounds
from tests.waiting import DEADLINE, collected, eventually, eventually_on_loop


@pytest.fixture(autouse=True)
def fail_on_asyncio_warnings(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail a test if asyncio logs a warning, for example that a pending task was destroyed."""
    collect_all()  # warnings about objects of other tests must not fail this one
    with caplog.at_level(logging.WARNING, logger="asyncio"):
        yield
        collect_all()
    records = caplog.get_records("call") + caplog.get_records("teardown")
    assert [record.getMessage() for record in records if record.name == "asyncio"] == []


def collect_all() -> None:
    before = gc.get_stats()[-1]["collections"]
    collected(lambda: gc.get_stats()[-1]["collections"] > before)


async def wait_forever(n: int = 0) -> int:
    await asyncio.Event().wait()
    return n


async def wait_and_yield() -> AsyncIterator[int]:
    await asyncio.Event().wait()
    yield 1


async def wait_and_emit(emitter: pyrs.Emitter[int]) -> None:
    await asyncio.Event().wait()


async def run_loop_turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


SOURCES: dict[str, Callable[[], pyrs.Stream[Any]]] = {
    "map": lambda: pyrs.range(5).map(wait_forever, concurrency=2),
    "from_async_iterable": lambda: pyrs.from_async_iterable(wait_and_yield()),
    "from_awaitable": lambda: pyrs.from_awaitable(wait_forever),
    "create": lambda: pyrs.create(wait_and_emit),
}


def abandoned_loop(main: Callable[[], Any]) -> asyncio.AbstractEventLoop:
    """Run main on a loop for a few turns, and close the loop before main is done."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(main())
    loop.run_until_complete(run_loop_turns())
    loop.close()
    if not task.done():
        # The test abandons this task on purpose; only warnings about tasks of pyrs must fail the test.
        task._log_destroy_pending = False  # type: ignore[attr-defined]
    return loop


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("after", [0, 1, 3])
def test_end_of_asyncio_run_signals_on_error(source: str, after: int) -> None:
    """``after`` is the number of turns that the loop runs after the subscription."""
    subscriber: TestSubscriber[Any] = TestSubscriber(None)

    async def main() -> None:
        SOURCES[source]().subscribe(subscriber)
        await run_loop_turns(after)

    asyncio.run(main())
    assert "cancelled" in str(subscriber.assert_error(RuntimeError))


@pytest.mark.parametrize("source", SOURCES)
def test_system_exit_on_the_background_loop_fails_its_stream_only(source: str, dropped: Dropped) -> None:
    async def exit_process(*_: Any) -> int:
        sys.exit(3)

    async def exit_and_yield() -> AsyncIterator[int]:
        yield await exit_process()

    streams: dict[str, pyrs.Stream[Any]] = {
        "map": pyrs.just(1).map(exit_process),
        "from_async_iterable": pyrs.from_async_iterable(exit_and_yield()),
        "from_awaitable": pyrs.from_awaitable(exit_process),
        "create": pyrs.create(exit_process),
    }
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    streams[source].subscribe(subscriber)
    subscriber.await_error(SystemExit)

    async def identity(n: int) -> int:
        return n

    assert pyrs.range(3).map(identity).collect(timeout=DEADLINE) == [0, 1, 2]
    assert background_loop().is_running()
    assert all(isinstance(error, SystemExit) for error in dropped.take())


@pytest.fixture
def rejecting_task_factory() -> Iterator[None]:
    """Make the background loop reject every task."""

    def reject(loop: object, coroutine: Any, **options: object) -> Any:
        raise RuntimeError("no task")

    background_loop().set_task_factory(reject)
    yield
    background_loop().set_task_factory(None)


@pytest.mark.parametrize("source", [*SOURCES, "using_when"])
def test_rejected_task_signals_on_error(source: str, rejecting_task_factory: None) -> None:
    streams = {**SOURCES, "using_when": lambda: pyrs.using_when(lambda: contextlib.nullcontext(1), pyrs.just)}
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    streams[source]().subscribe(subscriber)
    assert "no task" in str(subscriber.await_error(RuntimeError))


def test_rejected_task_of_a_subscriber_cancels_upstream(rejecting_task_factory: None, dropped: Dropped) -> None:
    class Subscriber:
        def on_subscribe(self, subscription: pyrs.Subscription) -> None: ...
        async def on_next(self, element: int) -> None: ...
        def on_error(self, error: BaseException) -> None: ...
        def on_complete(self) -> None: ...

    source: TestPublisher[int] = TestPublisher()
    source.stream().subscribe(Subscriber())
    source.await_cancelled()
    eventually(lambda: dropped.errors, "the error is reported")
    assert [str(error) for error in dropped.take()] == ["no task"]


def test_signal_to_a_closed_loop_cancels_upstream() -> None:
    for other_thread in (False, True):
        source: TestPublisher[int] = TestPublisher()

        async def iterate(source: TestPublisher[int] = source) -> None:
            async for _ in pyrs.Stream(source):
                pass

        abandoned_loop(iterate)
        if other_thread:
            thread = threading.Thread(target=source.next, args=(1,))
            thread.start()
            thread.join(DEADLINE)
        else:
            source.next(1)
        source.assert_cancelled()


def test_request_for_an_async_iterable_on_a_closed_loop_signals_on_error() -> None:
    subscriber: TestSubscriber[int] = TestSubscriber()

    async def numbers() -> AsyncIterator[int]:
        for n in range(3):
            yield n

    async def main() -> None:
        pyrs.from_async_iterable(numbers()).subscribe(subscriber)
        subscriber.request(1)
        await run_loop_turns()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    subscriber.assert_elements(0)
    for task in asyncio.all_tasks(loop):
        task._log_destroy_pending = False  # type: ignore[attr-defined]
    loop.close()
    subscriber.request(1)
    subscriber.assert_error(RuntimeError)


def test_element_for_map_on_a_closed_loop_signals_on_error() -> None:
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber(None)

    async def main() -> None:
        pyrs.Stream(source).map(wait_forever).subscribe(subscriber)

    asyncio.run(main())
    source.next(1)
    subscriber.assert_error(RuntimeError)
    source.assert_cancelled()


class TestFutures:
    def futures_of_closed_loop(self) -> tuple[asyncio.Future[int], asyncio.Future[int]]:
        loop = asyncio.new_event_loop()
        pending, done = loop.create_future(), loop.create_future()
        done.set_result(1)
        loop.close()
        return pending, done

    @pytest.mark.parametrize("cancel", [True, False])
    def test_from_future_of_a_closed_loop_signals_on_error_if_pending(self, cancel: bool) -> None:
        pending, done = self.futures_of_closed_loop()
        subscriber: TestSubscriber[int] = TestSubscriber()
        pyrs.from_future(done, cancel=cancel).subscribe(subscriber)
        subscriber.request(1)
        subscriber.assert_elements(1).assert_complete()
        failed: TestSubscriber[int] = TestSubscriber()
        pyrs.from_future(pending, cancel=cancel).subscribe(failed)
        assert "closed" in str(failed.assert_error(RuntimeError))

    @pytest.mark.parametrize("cancel", [True, False])
    def test_from_future_whose_loop_is_closed_later_fails_at_a_request(self, cancel: bool) -> None:
        loop = asyncio.new_event_loop()
        single = pyrs.from_future(loop.create_future(), cancel=cancel)
        subscribers = [TestSubscriber[int](), TestSubscriber[int]()]
        for each in subscribers:
            single.subscribe(each)
        loop.run_until_complete(run_loop_turns())
        loop.close()
        requesting, cancelling = subscribers
        requesting.assert_live()
        requesting.request(1)  # returns normally (3.16), and so does the cancel (3.15)
        assert "closed" in str(requesting.assert_error(RuntimeError))
        cancelling.cancel()
        cancelling.assert_live()

    def test_coroutine_object_can_be_awaited_once(self) -> None:
        async def one() -> int:
            return 1

        single = pyrs.from_awaitable(one())
        assert single.block(DEADLINE) == 1
        with pytest.raises(RuntimeError, match="already awaited"):
            single.block(DEADLINE)

    def test_function_that_returns_no_awaitable_signals_type_error(self) -> None:
        with pytest.raises(TypeError, match="await"):
            pyrs.from_awaitable(lambda: 3).block(DEADLINE)  # type: ignore[arg-type, return-value]

    def test_future_of_another_loop_signals_on_error(self) -> None:
        loop = asyncio.new_event_loop()
        future = loop.create_future()
        try:
            with pytest.raises(RuntimeError, match="attached to a different loop"):
                pyrs.from_awaitable(future).block(DEADLINE)
        finally:
            loop.close()


class TestCoroutineSubscriber:
    def test_cancel_in_on_next_leaves_no_task(self) -> None:
        class CancellingSubscriber:
            async def on_subscribe(self, subscription: pyrs.Subscription) -> None:
                self.subscription = subscription
                subscription.request(5)

            async def on_next(self, element: int) -> None:
                self.subscription.cancel()
                self.subscription.request(1)  # has no effect (3.6)

            def on_error(self, error: BaseException) -> None:
                raise error

            def on_complete(self) -> None:
                raise AssertionError("on_complete after cancel")

        async def main() -> None:
            source: TestPublisher[int] = TestPublisher()
            source.stream().subscribe(CancellingSubscriber())
            await run_loop_turns()
            source.next(1, 2)
            await eventually_on_loop(lambda: len(asyncio.all_tasks()) == 1)  # only the task of this test
            source.assert_cancelled(1)

        asyncio.run(main())

    @pytest.mark.skipif(sys.version_info < (3, 11), reason="Task.cancelling requires Python 3.11")
    def test_method_that_awaits_a_cancelled_task_is_reported(self, dropped: Dropped) -> None:
        class AwaitingSubscriber:
            async def on_subscribe(self, subscription: pyrs.Subscription) -> None:
                subscription.request(1)

            async def on_next(self, element: int) -> None:
                other = asyncio.ensure_future(wait_forever())
                other.cancel()
                await other

            def on_error(self, error: BaseException) -> None: ...
            def on_complete(self) -> None: ...

        async def main() -> None:
            source: TestPublisher[int] = TestPublisher()
            source.stream().subscribe(AwaitingSubscriber())
            await run_loop_turns()
            source.next(1)
            await eventually_on_loop(lambda: dropped.errors)
            source.assert_cancelled(1)

        asyncio.run(main())
        assert [type(error) for error in dropped.take()] == [asyncio.CancelledError]

    def test_end_of_the_loop_cancels_upstream(self) -> None:
        class WaitingSubscriber:
            async def on_subscribe(self, subscription: pyrs.Subscription) -> None:
                await asyncio.Event().wait()

            async def on_next(self, element: int) -> None: ...
            def on_error(self, error: BaseException) -> None: ...
            def on_complete(self) -> None: ...

        source: TestPublisher[int] = TestPublisher()

        async def main() -> None:
            source.stream().subscribe(WaitingSubscriber())

        asyncio.run(main())
        source.assert_cancelled()


class TestIteration:
    @pytest.mark.parametrize("wrap", [pyrs.Stream, lambda stream: pyrs.Stream(Hidden(stream))])
    def test_break_cancels_when_the_iterator_is_finalized(self, wrap: Any) -> None:
        async def main() -> None:
            cancelled = asyncio.Event()
            async for _ in wrap(pyrs.range(10).do_on_cancel(cancelled.set)):
                break
            await asyncio.wait_for(cancelled.wait(), DEADLINE)

        asyncio.run(main())

    def test_iterate_cancels_before_leaving_the_block(self) -> None:
        async def main() -> None:
            source: TestPublisher[int] = TestPublisher()
            with contextlib.suppress(ValueError):
                async with source.stream().iterate(prefetch=4) as elements:
                    first = asyncio.ensure_future(anext(elements))
                    await run_loop_turns()
                    source.next(1)
                    assert await asyncio.wait_for(first, DEADLINE) == 1
                    raise ValueError
            source.assert_cancelled(1)

        asyncio.run(main())

    def test_timeout_of_anext_cancels_the_iteration(self) -> None:
        async def main() -> None:
            source: TestPublisher[int] = TestPublisher()
            elements = aiter(source.stream())
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(anext(elements), 0.01)
            source.assert_cancelled(1)

        asyncio.run(main())

    def test_keyboard_interrupt_cancels_upstream(self) -> None:
        source: TestPublisher[int] = TestPublisher()

        async def main() -> None:
            asyncio.get_running_loop().call_soon(_interrupt)
            await source.stream().to_list()

        with pytest.raises(KeyboardInterrupt):
            asyncio.run(main())
        source.assert_cancelled()

    def test_several_loops_on_several_threads_receive_every_element(self) -> None:
        async def double(n: int) -> int:
            await asyncio.sleep(0)
            return 2 * n

        results: list[list[int]] = []

        def run() -> None:
            async def main() -> list[int]:
                threaded = pyrs.range(300).publish_on(pyrs.schedulers.default())
                return await threaded.map(double, concurrency=4).to_list()

            for _ in range(3):
                results.append(asyncio.run(main()))

        threads = [threading.Thread(target=run) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(100)
        assert results == [list(range(0, 600, 2))] * 18


class TestGenerators:
    def test_generator_that_swallows_the_cancellation_is_released(self, dropped: Dropped) -> None:
        async def main() -> None:
            state: list[str] = []

            async def stubborn() -> AsyncIterator[int]:
                while True:
                    try:
                        await asyncio.Event().wait()
                    except asyncio.CancelledError:
                        state.append("swallowed")
                        yield 1

            class StubbornIterable:
                def __aiter__(self) -> AsyncIterator[int]:
                    return stubborn()

            subscriber: TestSubscriber[int] = TestSubscriber(None)
            pyrs.from_async_iterable(StubbornIterable()).subscribe(subscriber)
            await run_loop_turns()
            subscriber.cancel()
            await eventually_on_loop(lambda: len(asyncio.all_tasks()) == 1)
            assert (state, subscriber.elements, dropped.elements) == (["swallowed"], [], 1)

        asyncio.run(main())

    def test_exception_of_a_cancelled_generator_is_dropped(self, dropped: Dropped) -> None:
        async def main() -> None:
            wrong = ValueError("during cleanup")

            async def failing() -> AsyncIterator[int]:
                try:
                    await asyncio.Event().wait()
                    yield 1
                finally:
                    raise wrong

            subscriber: TestSubscriber[int] = TestSubscriber(None)
            pyrs.from_async_iterable(failing()).subscribe(subscriber)
            await run_loop_turns()
            subscriber.cancel()
            await eventually_on_loop(lambda: len(asyncio.all_tasks()) == 1)
            assert dropped.take() == [wrong]

        asyncio.run(main())


def test_elements_through_map_use_bounded_memory() -> None:
    count = rounds(40_000)

    async def identity(n: int) -> int:
        await asyncio.sleep(0)
        return n

    async def main(count: int) -> int:
        return await pyrs.range(count).map(identity, concurrency=32, ordered=False).count()

    asyncio.run(main(1_000))  # excludes imports and caches from the measurement
    tracemalloc.start()
    try:
        asyncio.run(main(1_000))
        few = tracemalloc.get_traced_memory()[1]  # depends on the version of Python and on pytest
        gc.collect()
        tracemalloc.reset_peak()
        assert asyncio.run(main(count)) == count
        assert tracemalloc.get_traced_memory()[1] < few + 5 * count  # ten bytes per element would exceed this
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forked_child_starts_its_own_background_loop() -> None:
    """Run in a separate process, whose only threads are the main thread and that of the loop."""
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
    def test_async_for_works_in_trio_guest_mode(self) -> None:
        trio = pytest.importorskip("trio")
        results: list[int] = []

        async def guest() -> None:
            async for n in pyrs.range(50).publish_on(pyrs.schedulers.default()):
                results.append(n)

        async def main() -> None:
            loop, done = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()
            trio.lowlevel.start_guest_run(
                guest, run_sync_soon_threadsafe=loop.call_soon_threadsafe, done_callback=done.set_result
            )
            (await asyncio.wait_for(done, DEADLINE)).unwrap()

        asyncio.run(main())
        assert results == list(range(50))

    def test_for_each_in_trio_awaits_sequentially(self) -> None:
        seen: list[int] = []

        async def record(n: int) -> None:
            await anyio.sleep(0)
            seen.append(n)

        async def main() -> None:
            await pyrs.range(3).for_each(record)
            with pytest.raises(RuntimeError, match="concurrency needs an asyncio loop"):
                await pyrs.range(3).for_each(record, concurrency=2)

        anyio.run(main, backend="trio")
        assert seen == [0, 1, 2]


def _interrupt() -> None:
    raise KeyboardInterrupt
