"""Coroutine functions in map, flat_map, for_each and Subscribers."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import inspect
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any

import anyio
import pytest

import pyrs
from pyrs.aio.subscribers import CoroutineSubscriber
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.conftest import Dropped
from tests.core.support import RecordingSubscription
from tests.waiting import DEADLINE, eventually_on_loop


class Gates:
    """A coroutine function whose calls wait until the test opens their gate."""

    def __init__(self) -> None:
        self.started: list[int] = []
        self.cancelled: list[int] = []
        self.highest = 0
        self.running = 0
        self._gates: dict[int, asyncio.Event] = {}
        self._changed = asyncio.Condition()

    async def __call__(self, element: int) -> int:
        gate = self._gates.setdefault(element, asyncio.Event())
        self.started.append(element)
        self.running += 1
        self.highest = max(self.highest, self.running)
        try:
            async with self._changed:  # a cancel may also arrive here
                self._changed.notify_all()
            await gate.wait()
        except asyncio.CancelledError:
            self.cancelled.append(element)
            raise
        finally:
            self.running -= 1
        return element * 10

    def open(self, element: int) -> None:
        self._gates.setdefault(element, asyncio.Event()).set()

    async def await_started(self, count: int) -> None:
        async with self._changed:
            await asyncio.wait_for(self._changed.wait_for(lambda: len(self.started) >= count), DEADLINE)


async def double(n: int) -> int:
    await asyncio.sleep(0)
    return 2 * n


class TestMap:
    def test_without_a_running_loop_uses_the_background_loop(self) -> None:
        assert pyrs.range(5).map(double, concurrency=3).collect(timeout=DEADLINE) == [0, 2, 4, 6, 8]

    @pytest.mark.parametrize("concurrency", [1, 2, 7, 100])
    @pytest.mark.parametrize("ordered", [True, False])
    def test_every_element_is_mapped_once_on_a_running_loop(self, concurrency: int, ordered: bool) -> None:
        async def main() -> list[int]:
            return await pyrs.range(50).map(double, concurrency=concurrency, ordered=ordered).to_list()

        results = asyncio.run(main())
        assert (results if ordered else sorted(results)) == list(range(0, 100, 2))

    def test_concurrency_is_limited_and_order_is_kept(self) -> None:
        async def main() -> None:
            gates = Gates()
            subscriber: TestSubscriber[int] = TestSubscriber(None)
            pyrs.range(6).map(gates, concurrency=3).subscribe(subscriber)
            await gates.await_started(3)
            for n in (2, 1):
                gates.open(n)
            for _ in range(20):
                await asyncio.sleep(0)
            assert (gates.started, subscriber.elements) == ([0, 1, 2], [])  # the results of 1 and 2 wait for 0
            gates.open(0)
            await gates.await_started(6)
            assert subscriber.elements == [0, 10, 20]
            for n in (3, 4, 5):
                gates.open(n)
            await eventually_on_loop(lambda: subscriber.completed)
            assert (subscriber.elements, gates.highest) == ([0, 10, 20, 30, 40, 50], 3)

        asyncio.run(main())

    def test_unordered_results_are_emitted_in_order_of_completion(self) -> None:
        async def main() -> None:
            gates = Gates()
            subscriber: TestSubscriber[int] = TestSubscriber(None)
            pyrs.range(3).map(gates, concurrency=3, ordered=False).subscribe(subscriber)
            await gates.await_started(3)
            for n in (2, 0, 1):
                gates.open(n)
                await eventually_on_loop(lambda n=n: n * 10 in subscriber.elements)  # type: ignore[misc]
            await eventually_on_loop(lambda: subscriber.completed)
            subscriber.assert_elements(20, 0, 10)

        asyncio.run(main())

    def test_results_without_demand_stop_pulling(self) -> None:
        pulled: list[int] = []

        def source() -> Iterator[int]:
            for n in range(100):
                pulled.append(n)
                yield n

        async def main() -> None:
            subscriber: TestSubscriber[int] = TestSubscriber()
            pyrs.from_iterable(source()).map(double, concurrency=4).subscribe(subscriber)
            for _ in range(50):
                await asyncio.sleep(0)
            assert (pulled, subscriber.elements) == ([0, 1, 2, 3], [])
            subscriber.request(2)
            for _ in range(50):
                await asyncio.sleep(0)
            subscriber.assert_elements(0, 2).assert_live()
            assert len(pulled) == 6
            subscriber.cancel()

        asyncio.run(main())

    def test_error_follows_earlier_results_has_a_note_and_cancels_other_calls(self) -> None:
        async def main() -> None:
            gates = Gates()

            async def fail_at_two(n: int) -> int:
                if n == 2:
                    raise ValueError("two")
                return await gates(n)

            subscriber: TestSubscriber[int] = TestSubscriber(None)
            pyrs.range(9).map(fail_at_two, concurrency=4).subscribe(subscriber)
            await gates.await_started(3)
            gates.open(0)
            gates.open(1)
            await eventually_on_loop(lambda: subscriber.ended)
            subscriber.assert_elements(0, 10)
            error = subscriber.assert_error(ValueError)
            assert "in map(" in error.__notes__[0]
            assert "test_coroutines.py" in error.__notes__[0]
            await eventually_on_loop(lambda: gates.running == 0)
            assert 3 in gates.cancelled

        asyncio.run(main())

    def test_none_result_signals_null_signal(self) -> None:
        async def nothing(n: int) -> None:
            pass

        with pytest.raises(pyrs.NullSignal, match="the coroutine returned None"):
            pyrs.just(1).map(nothing).collect(timeout=DEADLINE)

    def test_cancel_cancels_the_tasks_and_upstream(self) -> None:
        async def main() -> None:
            gates = Gates()
            subscriber: TestSubscriber[int] = TestSubscriber(None)
            pyrs.range(10).map(gates, concurrency=2).subscribe(subscriber)
            await gates.await_started(2)
            subscriber.cancel()
            await eventually_on_loop(lambda: gates.running == 0)
            assert gates.started == [0, 1]
            assert sorted(gates.cancelled) == [0, 1]  # asyncio cancels tasks in no fixed order
            subscriber.assert_elements().assert_live()

        asyncio.run(main())

    def test_externally_cancelled_task_signals_on_error(self) -> None:
        async def cancel_itself(n: int) -> int:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(0)
            return n

        with pytest.raises(RuntimeError, match="was cancelled"):
            pyrs.just(1).map(cancel_itself).collect(timeout=DEADLINE)

    def test_functions_run_in_the_subscribers_context(self) -> None:
        variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")

        async def read(n: int) -> str:
            return variable.get()

        token = variable.set("mine")
        try:
            assert pyrs.range(2).map(read).collect(timeout=DEADLINE) == ["mine", "mine"]
        finally:
            variable.reset(token)

    def test_wrong_arguments_raise(self) -> None:
        with pytest.raises(TypeError, match="coroutine function"):
            pyrs.range(3).map(str, concurrency=2)  # type: ignore[call-overload]
        with pytest.raises(ValueError, match="concurrency must be at least 1"):
            pyrs.range(3).map(double, concurrency=0)
        assert repr(pyrs.range(3).map(double, concurrency=2)) == "range(0, 3).map(double, concurrency=2)"


class TestFlatMap:
    @pytest.mark.parametrize("operator", ["flat_map", "concat_map"])
    def test_coroutine_function_emits_one_element(self, operator: str) -> None:
        async def main() -> list[int]:
            return await getattr(pyrs.range(20), operator)(double).to_list()

        assert sorted(asyncio.run(main())) == list(range(0, 40, 2))
        assert sorted(getattr(pyrs.range(3), operator)(double).collect(timeout=DEADLINE)) == [0, 2, 4]

    @pytest.mark.parametrize("operator", ["flat_map", "concat_map"])
    def test_async_generator_function_emits_every_element(self, operator: str) -> None:
        async def twice(n: int) -> AsyncIterator[int]:
            yield n
            yield n

        assert sorted(getattr(pyrs.range(3), operator)(twice).collect(timeout=DEADLINE)) == [0, 0, 1, 1, 2, 2]

    def test_concurrency_is_limited(self) -> None:
        async def main() -> None:
            gates = Gates()
            subscriber: TestSubscriber[int] = TestSubscriber(None)
            pyrs.range(6).flat_map(gates, concurrency=2).subscribe(subscriber)
            await gates.await_started(2)
            for n in range(6):
                gates.open(n)
            await eventually_on_loop(lambda: subscriber.completed)
            assert (gates.highest, sorted(subscriber.elements)) == (2, [0, 10, 20, 30, 40, 50])

        asyncio.run(main())

    def test_switch_map_cancels_the_previous_task(self) -> None:
        async def main() -> None:
            gates = Gates()
            source: TestPublisher[int] = TestPublisher()
            subscriber: TestSubscriber[int] = TestSubscriber(None)
            pyrs.Stream(source).switch_map(gates).subscribe(subscriber)
            source.next(1)
            await gates.await_started(1)
            source.next(2)
            await gates.await_started(2)
            gates.open(2)
            source.complete()
            await eventually_on_loop(lambda: subscriber.completed)
            assert (gates.cancelled, subscriber.elements) == ([1], [20])

        asyncio.run(main())

    def test_exception_of_the_coroutine_signals_on_error(self) -> None:
        async def fail(n: int) -> int:
            raise ValueError(n)

        with pytest.raises(ValueError, match="0"):
            pyrs.range(3).flat_map(fail).collect(timeout=DEADLINE)

    @pytest.mark.parametrize("name", ["flat_map", "concat_map", "switch_map"])
    @pytest.mark.parametrize("source", [pyrs.range(1), pyrs.timer(0.001)])
    def test_error_note_names_the_operator_and_line(self, name: str, source: pyrs.Stream[int]) -> None:
        async def fetch(n: int) -> int:
            raise ValueError("boom")

        async def listen(n: int) -> AsyncIterator[int]:
            raise ValueError("boom")
            yield n

        for function in (fetch, listen):
            line = sys._getframe().f_lineno + 1
            stream = getattr(source, name)(function)
            with pytest.raises(ValueError, match="boom") as raised:
                stream.collect(timeout=DEADLINE)
            note = f"in {name}({function.__name__}), assembled at {__file__}:{line}"
            assert raised.value.__notes__ == [note]  # type: ignore[attr-defined]


class TestForEach:
    def test_for_each_awaits_sequentially(self) -> None:
        seen: list[int] = []

        async def record(n: int) -> None:
            await asyncio.sleep(0)
            seen.append(n)

        asyncio.run(await_with_deadline(lambda: pyrs.range(5).for_each(record)))
        assert seen == [0, 1, 2, 3, 4]

    def test_for_each_runs_several_actions_concurrently(self) -> None:
        async def main() -> None:
            gates = Gates()
            running = asyncio.ensure_future(pyrs.range(6).for_each(gates, concurrency=3))
            await gates.await_started(3)
            for n in range(6):
                gates.open(n)
            await asyncio.wait_for(running, DEADLINE)
            assert (gates.highest, sorted(gates.started)) == (3, [0, 1, 2, 3, 4, 5])

        asyncio.run(main())

    @pytest.mark.parametrize("concurrency", [1, 3])
    def test_exception_of_the_action_is_raised_and_cancels(self, concurrency: int) -> None:
        closed: list[bool] = []

        def source() -> Iterator[int]:
            try:
                yield from range(100)
            finally:
                closed.append(True)

        class Source:
            def __iter__(self) -> Iterator[int]:
                return source()

        async def fail(n: int) -> None:
            if n == 2:
                raise ValueError("two")

        with pytest.raises(ValueError, match="two"):
            asyncio.run(
                await_with_deadline(lambda: pyrs.from_iterable(Source()).for_each(fail, concurrency=concurrency))
            )
        assert closed == [True]

    def test_cancelled_task_cancels_upstream(self) -> None:
        async def main() -> None:
            cancelled = asyncio.Event()
            source = pyrs.never().do_on_cancel(cancelled.set)
            task = asyncio.ensure_future(source.for_each(double))
            for _ in range(5):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert cancelled.is_set()

        asyncio.run(main())

    def test_wrong_arguments_raise(self) -> None:
        with pytest.raises(TypeError, match="wait_for"):
            pyrs.range(3).for_each(double, timeout=1)  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="coroutine function"):
            pyrs.range(3).for_each(print, concurrency=2)  # type: ignore[call-overload]


class AsyncRecorder:
    """A recording Subscriber whose methods are coroutine functions."""

    def __init__(self, batch: int = 1, fail_at: int | None = None) -> None:
        self.signals: list[Any] = []
        self.ended = asyncio.Event()
        self.batch = batch
        self.fail_at = fail_at
        self.inside = 0
        self.subscription: pyrs.Subscription | None = None

    async def on_subscribe(self, subscription: pyrs.Subscription) -> None:
        self.subscription = subscription
        await asyncio.sleep(0)
        subscription.request(self.batch)

    async def on_next(self, element: int) -> None:
        self.inside += 1
        assert self.inside == 1, "concurrent on_next calls"
        await asyncio.sleep(0)
        self.inside -= 1
        self.signals.append(element)
        if element == self.fail_at:
            self.ended.set()
            raise ValueError("here")
        assert self.subscription is not None
        self.subscription.request(1)

    async def on_error(self, error: BaseException) -> None:
        self.signals.append(error)
        self.ended.set()

    async def on_complete(self) -> None:
        self.signals.append("complete")
        self.ended.set()


class TestCoroutineSubscriber:
    @pytest.mark.parametrize("name", ["on_subscribe", "on_next", "on_error", "on_complete"])
    @pytest.mark.parametrize("fails", [True, False])
    def test_single_method_may_be_a_coroutine_function(self, name: str, fails: bool) -> None:
        ended = threading.Event()
        called: list[str] = []

        class PlainSubscriber:
            def on_subscribe(self, subscription: pyrs.Subscription) -> None:
                called.append("on_subscribe")
                subscription.request(2)

            def on_next(self, element: int) -> None:
                called.append("on_next")

            def on_error(self, error: BaseException) -> None:
                called.append("on_error")
                ended.set()

            def on_complete(self) -> None:
                called.append("on_complete")
                ended.set()

        subscriber = PlainSubscriber()
        method = getattr(subscriber, name)

        async def call_later(*arguments: Any) -> None:
            await asyncio.sleep(0)
            method(*arguments)

        setattr(subscriber, name, call_later)
        end = pyrs.error(ValueError()) if fails else pyrs.empty()
        pyrs.just(1).concat(end).subscribe(subscriber)
        assert ended.wait(DEADLINE)
        assert called == ["on_subscribe", "on_next", "on_error" if fails else "on_complete"]

    @pytest.mark.parametrize("batch", [1, 5])
    def test_signals_are_awaited_sequentially(self, batch: int) -> None:
        async def main() -> list[Any]:
            recorder = AsyncRecorder(batch)
            pyrs.range(6).subscribe(recorder)
            await asyncio.wait_for(recorder.ended.wait(), DEADLINE)
            return recorder.signals

        assert asyncio.run(main()) == [0, 1, 2, 3, 4, 5, "complete"]

    def test_signals_from_another_thread_are_awaited_sequentially(self) -> None:
        async def main() -> list[Any]:
            recorder = AsyncRecorder(3)
            pyrs.range(200).publish_on(pyrs.schedulers.default()).subscribe(recorder)
            await asyncio.wait_for(recorder.ended.wait(), DEADLINE)
            return recorder.signals

        assert asyncio.run(main()) == [*range(200), "complete"]

    def test_exception_of_a_method_cancels_and_is_dropped(self, dropped: Dropped) -> None:
        async def main() -> list[Any]:
            recorder = AsyncRecorder(fail_at=2)
            cancelled = asyncio.Event()
            pyrs.range(6).do_on_cancel(cancelled.set).subscribe(recorder)
            await asyncio.wait_for(cancelled.wait(), DEADLINE)
            return recorder.signals

        assert asyncio.run(main()) == [0, 1, 2]
        assert [str(error) for error in dropped.take()] == ["here"]

    @pytest.mark.parametrize("by", ["the task", "cancel"])
    def test_queue_emptied_by_another_thread_raises_nothing(self, by: str, dropped: Dropped) -> None:
        class EmptiedQueue(deque[Any]):
            armed = False

            def popleft(self) -> Any:
                if self.armed:
                    self.clear()  # simulates a cancel on another thread
                return super().popleft()

        async def main() -> None:
            source: TestPublisher[int] = TestPublisher()
            recorder = AsyncRecorder(9)
            subscriber = CoroutineSubscriber(recorder)
            queue = subscriber._signals = EmptiedQueue()
            source.subscribe(subscriber)
            await eventually_on_loop(lambda: source.requests)
            queue.armed = True
            source.next(1)
            if by == "the task":
                await asyncio.sleep(0)
                queue.armed = False
                source.next(2)
                await eventually_on_loop(lambda: recorder.signals == [2])
            subscriber.cancel()
            source.assert_cancelled()

        asyncio.run(main())
        assert dropped.errors == []

    def test_element_that_arrives_during_a_cancel_is_discarded(self, discarded: list[Any]) -> None:
        class LateQueue(deque[Any]):
            def append(self, signal: Any) -> None:
                if signal[0] == "on_next":
                    subscriber.cancel()
                super().append(signal)

        subscriber = CoroutineSubscriber(AsyncRecorder())
        subscriber._signals = LateQueue()
        subscriber.on_subscribe(RecordingSubscription())
        subscriber.on_next("late")
        assert discarded == ["late"]

    @pytest.mark.parametrize("order", ["before", "during", "after"])
    def test_error_that_arrives_around_a_cancel_is_reported(self, order: str, dropped: Any) -> None:
        class LateQueue(deque[Any]):
            def append(self, signal: Any) -> None:
                if signal[0] == "on_error" and order == "during":
                    subscribers[0].cancel()
                super().append(signal)

        async def main() -> None:
            subscriber = CoroutineSubscriber(AsyncRecorder())
            subscribers.append(subscriber)
            subscriber._signals = LateQueue()
            subscriber.on_subscribe(RecordingSubscription())
            if order == "after":
                subscriber.cancel()
            subscriber.on_error(error)
            subscriber.cancel()

        error, subscribers = ValueError("not delivered"), list[CoroutineSubscriber]()
        asyncio.run(main())
        assert dropped.take() == [error]

    def test_without_a_running_loop_uses_the_background_loop(self) -> None:
        ended = threading.Event()
        seen: list[int] = []

        class PlainSubscriber:
            def on_subscribe(self, subscription: pyrs.Subscription) -> None:
                subscription.request(10)

            async def on_next(self, element: int) -> None:
                seen.append(element)

            def on_error(self, error: BaseException) -> None:
                raise error

            def on_complete(self) -> None:
                ended.set()

        pyrs.range(3).subscribe(PlainSubscriber())
        assert ended.wait(DEADLINE)
        assert seen == [0, 1, 2]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
class TestAnyio:
    def test_async_for_and_await_work_on_every_backend(self, backend: str) -> None:
        async def main() -> tuple[list[int], int]:
            threaded = pyrs.range(1_000).publish_on(pyrs.schedulers.default())
            return [n async for n in threaded], await pyrs.range(10).count()

        results, count = anyio.run(main, backend=backend)
        assert (results, count) == (list(range(1_000)), 10)

    def test_cancelled_scope_cancels_upstream(self, backend: str) -> None:
        cancelled = threading.Event()

        async def main() -> None:
            with anyio.move_on_after(0.01):
                await pyrs.never().do_on_cancel(cancelled.set).first()

        anyio.run(main, backend=backend)
        assert cancelled.wait(DEADLINE)


async def await_with_deadline(function: Callable[[], Any]) -> Any:
    return await asyncio.wait_for(function(), DEADLINE)


@pytest.mark.parametrize("name", ["flat_map", "concat_map", "switch_map"])
def test_coroutine_created_during_cancel_is_closed(name: str) -> None:
    created: list[Coroutine[Any, Any, int]] = []

    def create(n: int) -> Coroutine[Any, Any, int]:
        created.append(double(n))
        subscriber.cancel()
        return created[-1]

    subscriber: TestSubscriber[int] = TestSubscriber(None)
    getattr(pyrs.range(3), name)(create).subscribe(subscriber)
    assert [inspect.getcoroutinestate(coroutine) for coroutine in created] == [inspect.CORO_CLOSED]
    subscriber.assert_elements().assert_live()


def test_coroutines_that_are_no_longer_needed_are_closed() -> None:
    """A coroutine that is neither awaited nor closed fails the test: Python warns when it is collected."""

    async def fail(n: int) -> int:
        raise ValueError(n)

    for _ in range(20):
        with pytest.raises(ValueError, match="0"):
            pyrs.range(30).flat_map(fail).collect(timeout=DEADLINE)
    subscriber: TestSubscriber[int] = TestSubscriber()
    pyrs.from_awaitable(double(1)).subscribe(subscriber)
    subscriber.cancel()
    gc.collect()
