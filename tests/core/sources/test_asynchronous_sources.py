"""from_async_iterable, from_awaitable and from_future: demand, loops, errors and cancellation."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import AsyncIterator
from concurrent.futures import Future
from typing import Any

import pytest

import pyrs
from pyrs.aio import background_loop
from pyrs.testing import TestSubscriber
from tests.waiting import DEADLINE, collected, eventually_on_loop


async def double(n: int) -> int:
    await asyncio.sleep(0)
    return 2 * n


class TestFromAsyncIterable:
    def test_async_iterable_is_pulled_on_demand(self) -> None:
        pulled: list[int] = []

        async def source() -> AsyncIterator[int]:
            for n in range(10):
                pulled.append(n)
                yield n

        async def main() -> None:
            subscriber: TestSubscriber[int] = TestSubscriber(2)
            pyrs.from_async_iterable(source()).subscribe(subscriber)
            await eventually_on_loop(lambda: len(subscriber.elements) == 2)
            for _ in range(10):
                await asyncio.sleep(0)
            assert pulled == [0, 1]
            subscriber.request(100)
            await eventually_on_loop(lambda: subscriber.completed)
            subscriber.assert_elements(*range(10))

        asyncio.run(main())

    def test_async_iterable_without_a_running_loop_uses_the_background_loop(self) -> None:
        async def source() -> AsyncIterator[int]:
            for n in range(3_000):
                yield n

        assert pyrs.from_async_iterable(source()).map(str).count().block(DEADLINE) == 3_000

    def test_error_note_names_the_source(self) -> None:
        async def source() -> AsyncIterator[int]:
            yield 1
            raise ValueError("broken")

        with pytest.raises(ValueError, match="broken") as caught:
            pyrs.from_async_iterable(source()).collect(timeout=DEADLINE)
        assert "in from_async_iterable(" in caught.value.__notes__[0]

    def test_cancel_reaches_a_waiting_iterator(self) -> None:
        async def main() -> None:
            waiting, closed = asyncio.Event(), asyncio.Event()

            async def source() -> AsyncIterator[int]:
                try:
                    waiting.set()
                    await asyncio.Event().wait()
                    yield 1
                finally:
                    closed.set()

            subscriber: TestSubscriber[int] = TestSubscriber(1)
            pyrs.from_async_iterable(source()).subscribe(subscriber)
            await asyncio.wait_for(waiting.wait(), DEADLINE)
            subscriber.cancel()
            await asyncio.wait_for(closed.wait(), DEADLINE)
            subscriber.assert_elements().assert_live()

        asyncio.run(main())

    @pytest.mark.parametrize("taken", [1, 3, 9])
    @pytest.mark.parametrize("thread", [False, True])
    def test_end_of_the_stream_does_not_interrupt_aclose(self, taken: int, thread: bool) -> None:
        """``take`` cancels while the task emits; without it the stream completes before ``aclose``."""

        class Source:
            closed = 0

            def __aiter__(self) -> Iterating:
                return Iterating()

        class Iterating:
            def __init__(self) -> None:
                self.numbers = iter(range(5))

            async def __anext__(self) -> int:
                await asyncio.sleep(0)
                for n in self.numbers:
                    return n
                raise StopAsyncIteration

            async def aclose(self) -> None:
                for _ in range(3):
                    await asyncio.sleep(0)
                Source.closed += 1

        async def main() -> list[int]:
            stream = pyrs.from_async_iterable(Source())  # type: ignore[arg-type]
            if thread:
                stream = stream.publish_on(pyrs.schedulers.default(), prefetch=1)
            found = await stream.take(taken).to_list()
            await eventually_on_loop(lambda: len(asyncio.all_tasks()) == 1)
            return found

        assert asyncio.run(main()) == list(range(min(taken, 5)))
        assert Source.closed == 1

    def test_each_subscriber_starts_a_new_iteration(self) -> None:
        class Source:
            async def __aiter__(self) -> AsyncIterator[int]:
                yield 1
                yield 2

        stream = pyrs.from_async_iterable(Source())
        assert (stream.collect(timeout=DEADLINE), stream.collect(timeout=DEADLINE)) == ([1, 2], [1, 2])

    def test_illegal_request_and_none_element_signal_on_error(self) -> None:
        async def source() -> AsyncIterator[int | None]:
            yield None

        subscriber: TestSubscriber[Any] = TestSubscriber()
        pyrs.from_async_iterable(source()).subscribe(subscriber)
        subscriber.request(0)
        subscriber.await_error(pyrs.NonPositiveRequest)
        with pytest.raises(pyrs.NullSignal):
            pyrs.from_async_iterable(source()).collect(timeout=DEADLINE)

    def test_iterable_that_never_waits_yields_to_other_tasks(self) -> None:
        async def endless() -> AsyncIterator[int]:
            n = 0
            while True:
                n += 1
                yield n

        async def main() -> None:
            subscription = pyrs.from_async_iterable(endless()).subscribe(on_next=lambda n: None)
            for _ in range(20):
                await asyncio.sleep(0)
            subscription.cancel()

        asyncio.run(asyncio.wait_for(main(), DEADLINE))

    def test_wrong_arguments_raise(self) -> None:
        with pytest.raises(TypeError, match="asynchronous iterable"):
            pyrs.from_async_iterable([1])  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="loop"):
            pyrs.from_async_iterable(_empty(), loop=3)  # type: ignore[arg-type]


class TestFromAwaitable:
    def test_function_is_called_for_each_subscriber(self) -> None:
        calls: list[int] = []

        async def answer() -> int:
            calls.append(1)
            return 41 + len(calls)

        single = pyrs.from_awaitable(answer)
        assert (single.block(DEADLINE), single.block(DEADLINE)) == (42, 43)

    def test_function_is_awaited_on_demand(self) -> None:
        async def main() -> None:
            started = asyncio.Event()

            async def answer() -> int:
                started.set()
                return 1

            subscriber: TestSubscriber[int] = TestSubscriber()
            pyrs.from_awaitable(answer).subscribe(subscriber)
            for _ in range(10):
                await asyncio.sleep(0)
            assert not started.is_set()
            subscriber.request(1)
            await eventually_on_loop(lambda: subscriber.completed)
            subscriber.assert_elements(1)

        asyncio.run(main())

    def test_single_can_be_awaited(self) -> None:
        async def main() -> int:
            return await pyrs.from_awaitable(lambda: double(21))

        assert asyncio.run(main()) == 42

    def test_wrong_arguments_raise(self) -> None:
        with pytest.raises(TypeError, match="awaitable"):
            pyrs.from_awaitable(3)  # type: ignore[arg-type]


class TestFromFuture:
    def test_future_result_waits_for_demand(self) -> None:
        future: Future[str] = Future()
        early: TestSubscriber[str] = TestSubscriber(1)
        undemanded: TestSubscriber[str] = TestSubscriber()
        single = pyrs.from_future(future)
        single.subscribe(early)
        single.subscribe(undemanded)
        early.assert_live()
        future.set_result("x")
        early.assert_elements("x").assert_complete()
        undemanded.assert_elements().assert_live()
        undemanded.request(1)
        undemanded.assert_elements("x").assert_complete()
        assert single.block(DEADLINE) == "x"

    def test_error_of_the_future_needs_no_demand(self) -> None:
        future: Future[str] = Future()
        subscriber: TestSubscriber[str] = TestSubscriber()
        pyrs.from_future(future).subscribe(subscriber)
        future.set_exception(ValueError("no"))
        subscriber.assert_error(ValueError)
        cancelled: Future[str] = Future()
        cancelled.cancel()
        with pytest.raises(RuntimeError, match="was cancelled"):
            pyrs.from_future(cancelled).block(DEADLINE)

    @pytest.mark.parametrize("cancel", [True, False])
    def test_cancel_cancels_the_future_only_if_requested(self, cancel: bool) -> None:
        future: Future[str] = Future()
        subscriber: TestSubscriber[str] = TestSubscriber(1)
        pyrs.from_future(future, cancel=cancel).subscribe(subscriber)
        subscriber.cancel()
        assert future.cancelled() is cancel

    def test_pending_future_keeps_no_cancelled_subscription(self) -> None:
        future: Future[str] = Future()
        subscriber: TestSubscriber[str] = TestSubscriber(1)
        pyrs.from_future(future).subscribe(subscriber)
        subscription = weakref.ref(subscriber.await_subscription()._subscription)  # type: ignore[attr-defined]
        subscriber.cancel()
        del subscriber
        collected(lambda: subscription() is None)
        future.set_result("x")

    @pytest.mark.parametrize("cancel", [True, False])
    def test_an_error_of_a_third_party_future_is_reported(self, cancel: bool, dropped: Any) -> None:
        class Broken(Future[int]):
            def cancel(self) -> bool:
                raise OSError("no connection")

            def remove_done_callback(self, function: Any) -> None:
                raise OSError("no connection")

        future = Broken()
        completed: TestSubscriber[int] = TestSubscriber(1)
        cancelled: TestSubscriber[int] = TestSubscriber(1)
        single = pyrs.from_future(future, cancel=cancel)
        single.subscribe(completed)
        single.subscribe(cancelled)
        cancelled.cancel()  # 3.15
        future.set_result(7)
        completed.assert_elements(7).assert_complete()
        assert {str(error) for error in dropped.take()} == {"no connection"}

    def test_an_error_of_a_third_party_future_on_another_loop_fails_the_stream(self) -> None:
        class Broken(asyncio.Future[int]):
            def add_done_callback(self, function: Any, /, *, context: Any = None) -> None:
                raise OSError("no connection")

        with pytest.raises(OSError, match="no connection"):
            pyrs.from_future(Broken(loop=background_loop())).block(DEADLINE)

    def test_from_future_accepts_an_asyncio_future(self) -> None:
        async def main() -> str:
            future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_soon(future.set_result, "y")
            return await pyrs.from_future(future)

        assert asyncio.run(main()) == "y"

    @pytest.mark.parametrize("fails", [False, True])
    def test_future_that_completes_on_its_loop_while_a_thread_subscribes_is_signalled(self, fails: bool) -> None:
        loop, subscribed = background_loop(), threading.Event()
        future: asyncio.Future[str] = loop.create_future()

        def complete() -> None:
            subscribed.wait(DEADLINE)  # the callbacks that subscribe() adds to the loop run after this one
            future.set_exception(OSError("down")) if fails else future.set_result("x")

        class CompletedLater(TestSubscriber[str]):
            def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
                super().on_subscribe(subscription)
                loop.call_soon_threadsafe(complete)

        subscriber = CompletedLater(1, timeout=DEADLINE)
        pyrs.from_future(future).subscribe(subscriber)
        subscribed.set()
        if fails:
            subscriber.await_error(OSError)
        else:
            assert subscriber.await_complete() == ["x"]

    def test_wrong_arguments_raise(self) -> None:
        with pytest.raises(TypeError, match="not the class Future"):
            pyrs.from_future(Future)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="future"):
            pyrs.from_future(3)  # type: ignore[arg-type]


async def _empty() -> AsyncIterator[int]:
    return
    yield 0
