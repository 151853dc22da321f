"""from_queue and to_queue with queues of threads, processes and asyncio."""

from __future__ import annotations

import asyncio
import multiprocessing
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import pyrs
from pyrs._core.coordinator import Coordinator
from pyrs.adapters.queues import from_queue, to_queue
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.conftest import Dropped, Hidden
from tests.waiting import DEADLINE, eventually_on_loop

END = object()


class Unusual(BaseException):
    """An error that is no Exception."""


class RecordingQueue(queue.Queue[Any]):
    """A queue that counts taken elements, each ``get`` (``waits``) and each ``put`` while it is full (``fulls``)."""

    def __init__(self, maxsize: int = 0) -> None:
        super().__init__(maxsize)
        self.taken = 0
        self.waits = threading.Semaphore(0)
        self.fulls = threading.Semaphore(0)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        assert timeout is not None, "a thread that waits without a timeout cannot be cancelled"
        self.waits.release()
        element = super().get(block, timeout)
        self.taken += 1
        return element

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        try:
            super().put(item, False)
        except queue.Full:
            self.fulls.release()
            super().put(item, block, timeout)


@pytest.fixture(params=["Queue", "SimpleQueue", "LifoQueue", "multiprocessing"])
def any_queue(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param != "multiprocessing":
        yield getattr(queue, request.param)()
        return
    processes: Any = multiprocessing.get_context("spawn").Queue()
    yield processes
    processes.close()
    processes.join_thread()


class TestFromQueue:
    def test_elements_before_the_end_marker_are_emitted(self, any_queue: Any) -> None:
        elements = [1, 2, 3, "end"]
        for each in reversed(elements) if isinstance(any_queue, queue.LifoQueue) else elements:
            any_queue.put(each)
        assert from_queue(any_queue, end="end").collect(timeout=DEADLINE) == [1, 2, 3]

    def test_end_marker_is_compared_by_equality(self, any_queue: Any) -> None:
        any_queue.put(("the", "end"))
        assert from_queue(any_queue, end=("the", "".join(["e", "nd"]))).collect(timeout=DEADLINE) == []

    def test_end_marker_is_compared_with_elements_of_its_type_only(self) -> None:
        class RaisingEquality:
            def __eq__(self, other: object) -> bool:
                raise AssertionError("an element of another type was compared")

            __hash__ = None  # type: ignore[assignment]

        elements: queue.Queue[Any] = queue.Queue()
        for each in (RaisingEquality(), 0, False):
            elements.put(each)
        assert len(from_queue(elements, end=False).collect(timeout=DEADLINE)) == 2

    def test_elements_are_taken_on_demand(self) -> None:
        elements = RecordingQueue()
        for n in range(10):
            elements.put(n)
        subscriber: TestSubscriber[int] = TestSubscriber()
        from_queue(elements).subscribe(subscriber)
        assert elements.taken == 0
        for n in range(1, 4):
            subscriber.request(1)
            subscriber.await_count(n)
            assert elements.taken == n
        subscriber.request(4)
        assert subscriber.await_count(7) == list(range(7))
        assert (elements.taken, elements.qsize()) == (7, 3)
        subscriber.cancel()

    def test_stream_waits_for_later_elements(self) -> None:
        elements = RecordingQueue()
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        from_queue(elements, end=END).subscribe(subscriber)
        for n in range(3):
            assert elements.waits.acquire(timeout=DEADLINE)
            elements.put(n)
            subscriber.await_count(n + 1)
        elements.put(END)
        assert subscriber.await_complete() == [0, 1, 2]
        thread_names = subscriber.thread_names - {threading.current_thread().name}
        assert thread_names
        assert all(name.startswith("pyrs-default") for name in thread_names)

    def test_elements_after_the_end_marker_stay_in_the_queue(self) -> None:
        elements: queue.Queue[Any] = queue.Queue()
        for each in (1, None, 2, None):
            elements.put(each)
        assert from_queue(elements, end=None).collect(timeout=DEADLINE) == [1]
        assert from_queue(elements, end=None).collect(timeout=DEADLINE) == [2]

    def test_cancel_releases_the_waiting_thread(self) -> None:
        elements = RecordingQueue()
        scheduler = pyrs.schedulers.single("queue")
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        from_queue(elements, scheduler=scheduler).subscribe(subscriber)
        assert elements.waits.acquire(timeout=DEADLINE)
        subscriber.cancel()
        assert scheduler.close(DEADLINE)  # waits until the thread has returned
        elements.put(1)
        assert (elements.qsize(), subscriber.elements) == (1, [])

    def test_element_taken_after_cancel_is_dropped(self, dropped: Dropped) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber()

        class CancellingQueue(queue.Queue[int]):
            def get(self, block: bool = True, timeout: float | None = None) -> int:
                element = super().get(block, timeout)
                subscriber.cancel()
                return element

        elements = CancellingQueue()
        elements.put(1)
        scheduler = pyrs.schedulers.single("queue")
        from_queue(elements, scheduler=scheduler).subscribe(subscriber)
        subscriber.request(1)
        assert scheduler.close(DEADLINE)
        assert (dropped.elements, subscriber.elements) == (1, [])

    def test_none_that_is_not_the_end_marker_signals_null_signal(self) -> None:
        elements: queue.Queue[Any] = queue.Queue()
        elements.put(None)
        with pytest.raises(pyrs.NullSignal, match="the queue returned None"):
            from_queue(elements).collect(timeout=DEADLINE)

    def test_exception_of_the_queue_signals_on_error(self) -> None:
        class RaisingQueue(queue.Queue[int]):
            def get(self, block: bool = True, timeout: float | None = None) -> int:
                raise OSError("handle is closed")

        with pytest.raises(OSError, match="handle is closed") as caught:
            from_queue(RaisingQueue()).collect(timeout=DEADLINE)
        assert "test_queues.py" in caught.value.__notes__[0]

    def test_queue_that_is_shut_down_completes_the_stream(self) -> None:
        elements: Any = queue.Queue()
        if not hasattr(elements, "shutdown"):
            pytest.skip("Queue.shutdown requires Python 3.13")
        elements.put(1)
        elements.shutdown()
        assert from_queue(elements).collect(timeout=DEADLINE) == [1]

    def test_closed_scheduler_signals_on_error(self) -> None:
        scheduler = pyrs.schedulers.single("queue")
        scheduler.close()
        with pytest.raises(pyrs.schedulers.SchedulerClosed):
            from_queue(queue.Queue(), scheduler=scheduler).collect(timeout=DEADLINE)

    def test_two_subscribers_share_the_elements(self) -> None:
        elements: queue.Queue[Any] = queue.Queue()
        both: list[TestSubscriber[int]] = [TestSubscriber(None), TestSubscriber(None)]
        for subscriber in both:
            from_queue(elements, end=END).subscribe(subscriber)
        for n in range(1_000):
            elements.put(n)
        for _ in both:
            elements.put(END)
        results = sorted(both[0].await_complete() + both[1].await_complete())
        assert results == list(range(1_000))

    def test_concurrent_requests_and_puts_lose_no_element(self) -> None:
        for _ in range(50):
            elements: queue.SimpleQueue[Any] = queue.SimpleQueue()
            subscriber: TestSubscriber[int] = TestSubscriber()
            from_queue(elements, end=END).subscribe(subscriber)
            barrier = threading.Barrier(3)

            def request(subscriber: TestSubscriber[int] = subscriber, barrier: threading.Barrier = barrier) -> None:
                barrier.wait(DEADLINE)
                for _ in range(25):
                    subscriber.request(1)

            def put(elements: Any = elements, barrier: threading.Barrier = barrier) -> None:
                barrier.wait(DEADLINE)
                for n in range(49):
                    elements.put(n)
                elements.put(END)

            threads = [threading.Thread(target=each) for each in (request, request, put)]
            for thread in threads:
                thread.start()
            assert subscriber.await_complete() == list(range(49))
            for thread in threads:
                thread.join(DEADLINE)
            subscriber.assert_rules()

    def test_wrong_arguments_raise(self) -> None:
        with pytest.raises(TypeError, match="not the class Queue"):
            from_queue(queue.Queue)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="has no get"):
            from_queue([1])  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="has no get_nowait"):
            from_queue(multiprocessing.get_context("spawn").SimpleQueue())  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="scheduler must be a Scheduler"):
            from_queue(queue.Queue(), scheduler=3)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"schedulers\.asyncio"):
            from_queue(asyncio.Queue(), scheduler=pyrs.schedulers.inline())
        assert repr(from_queue(queue.Queue())).startswith("from_queue(<queue.Queue")

    @pytest.mark.parametrize("create", [pyrs.schedulers.asyncio, pyrs.schedulers.VirtualTime])
    def test_a_scheduler_that_the_wait_would_stop_is_refused(self, create: Callable[[], Any]) -> None:
        elements: queue.Queue[int] = queue.Queue()
        subscriber: TestSubscriber[int] = TestSubscriber()

        async def main() -> None:
            scheduler = create()
            with pytest.raises(TypeError, match=r"schedulers\.pool\(\)"):
                from_queue(elements, scheduler=scheduler)
            with pyrs.schedulers.use(scheduler):
                from_queue(elements).subscribe(subscriber)

        asyncio.run(main())
        assert "schedulers.pool()" in str(subscriber.assert_error(TypeError))


class TestFromAsyncioQueue:
    def test_elements_are_taken_on_demand_on_the_loop(self) -> None:
        async def main() -> None:
            elements: asyncio.Queue[Any] = asyncio.Queue()
            for each in (1, 2, 3, END):
                elements.put_nowait(each)
            subscriber: TestSubscriber[int] = TestSubscriber(2)
            from_queue(elements, end=END).subscribe(subscriber)
            await eventually_on_loop(lambda: len(subscriber.elements) == 2)
            for _ in range(10):
                await asyncio.sleep(0)
            assert elements.qsize() == 2
            subscriber.request(2)
            await eventually_on_loop(lambda: subscriber.completed)
            subscriber.assert_elements(1, 2, 3)

        asyncio.run(main())

    def test_element_put_around_a_cancel_is_delivered_or_kept_or_counted_as_dropped(self, dropped: Dropped) -> None:
        async def main() -> None:
            elements: asyncio.Queue[int] = asyncio.Queue()
            for n in range(100):
                subscriber: TestSubscriber[int] = TestSubscriber(1)
                from_queue(elements).subscribe(subscriber)
                for _ in range(n % 5):
                    await asyncio.sleep(0)
                elements.put_nowait(n)
                subscriber.cancel()
                for _ in range(5):
                    await asyncio.sleep(0)
                remaining = [elements.get_nowait() for _ in range(elements.qsize())]
                assert len(subscriber.elements + remaining) + dropped.elements == 1
                dropped.counts.clear()

        asyncio.run(main())

    def test_queue_can_be_subscribed_to_on_another_thread(self) -> None:
        async def main() -> list[int]:
            elements: asyncio.Queue[Any] = asyncio.Queue()
            loop = asyncio.get_running_loop()
            given = from_queue(elements, end=END, scheduler=pyrs.schedulers.asyncio(loop))
            results = [
                loop.run_in_executor(None, lambda stream=stream: stream.collect(timeout=DEADLINE))
                for stream in (from_queue(elements, end=END), given)
            ]
            for each in (END, END):
                await elements.put(each)
            return [len(each) for each in await asyncio.gather(*results)]

        assert asyncio.run(main()) == [0, 0]


@pytest.mark.parametrize("kind", [queue.Queue, asyncio.Queue])
def test_cancel_just_before_an_element_is_emitted_reports_it(
    kind: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, dropped: Dropped
) -> None:
    """The cancel of another thread arrives after the drain loop has seen that the stream is live."""
    emit, received, discarded = Coordinator._emit, TestSubscriber[int](1), list[int]()

    def cancelled_before(run: Coordinator[int], element: int) -> None:
        received.cancel()
        emit(run, element)

    async def main() -> None:
        elements = kind()
        elements.put_nowait(1)
        scheduler = pyrs.schedulers.inline() if kind is queue.Queue else None
        from_queue(elements, scheduler=scheduler).do_on_discard(discarded.append).subscribe(received)
        await eventually_on_loop(lambda: discarded == [1])

    monkeypatch.setattr(Coordinator, "_emit", cancelled_before)
    asyncio.run(main())
    assert (received.elements, dropped.elements) == ([], 1)


class TestToQueue:
    @pytest.mark.parametrize("hide", [False, True])
    def test_every_element_and_the_end_marker_are_put(self, any_queue: Any, hide: bool) -> None:
        stream = pyrs.range(3)
        to_queue(pyrs.Stream(Hidden(stream)) if hide else stream, any_queue, end="end")
        results = [
            any_queue.get(timeout=DEADLINE) if hasattr(any_queue, "close") else any_queue.get() for _ in range(4)
        ]
        assert sorted(map(str, results)) == ["0", "1", "2", "end"]

    @pytest.mark.parametrize("hide", [False, True])
    def test_full_queue_applies_back_pressure(self, hide: bool) -> None:
        pulled: list[int] = []

        def source() -> Iterator[int]:
            for n in range(10):
                pulled.append(n)
                yield n

        stream = pyrs.from_iterable(source())
        elements = RecordingQueue(maxsize=2)
        thread = threading.Thread(
            target=to_queue, args=(pyrs.Stream(Hidden(stream)) if hide else stream, elements), kwargs={"end": END}
        )
        thread.start()
        for n in range(8):
            assert elements.fulls.acquire(timeout=DEADLINE)
            assert pulled == list(range(n + 3))  # two in the queue and one that waits
            assert elements.get(timeout=DEADLINE) == n
        assert [elements.get(timeout=DEADLINE) for _ in range(3)] == [8, 9, END]
        thread.join(DEADLINE)
        assert not thread.is_alive()

    def test_failed_stream_puts_the_end_marker_and_raises(self) -> None:
        elements: queue.Queue[Any] = queue.Queue()
        with pytest.raises(ValueError, match="no"):
            to_queue(pyrs.just(1).concat(pyrs.error(ValueError("no"))), elements, end=None)
        assert [elements.get_nowait(), elements.get_nowait(), elements.empty()] == [1, None, True]

    @pytest.mark.parametrize("kind", [Unusual, KeyboardInterrupt, SystemExit])
    def test_end_marker_is_put_after_any_exception(self, kind: type[BaseException]) -> None:
        failed = pyrs.just(1).concat(pyrs.error(kind("no")))
        elements: queue.Queue[Any] = queue.Queue()
        with pytest.raises(kind):
            to_queue(failed, elements, end=None)
        assert list(elements.queue) == [1, None]

        async def main() -> list[Any]:
            elements: asyncio.Queue[Any] = asyncio.Queue()
            with pytest.raises(kind):
                await to_queue(failed, elements, end=None)
            return [elements.get_nowait() for _ in range(elements.qsize())]

        assert asyncio.run(main()) == [1, None]

    @pytest.mark.skipif(sys.version_info < (3, 11), reason="Task.cancelling requires Python 3.11")
    def test_end_marker_is_put_if_the_stream_fails_with_a_cancelled_error(self) -> None:
        async def main() -> list[Any]:
            elements: asyncio.Queue[Any] = asyncio.Queue()
            failed = pyrs.just(1).concat(pyrs.error(asyncio.CancelledError("of the stream")))
            with pytest.raises(asyncio.CancelledError, match="of the stream"):
                await to_queue(failed, elements, end=END)
            return [elements.get_nowait() for _ in range(elements.qsize())]

        assert asyncio.run(main()) == [1, END]

    @pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
    def test_full_queue_does_not_delay_an_interrupt(self, kind: type[BaseException]) -> None:
        failed = pyrs.just(1).concat(pyrs.error(kind("no")))
        elements: queue.Queue[Any] = queue.Queue(1)
        with pytest.raises(kind):
            to_queue(failed, elements, end=None)
        assert list(elements.queue) == [1]

        async def main() -> int:
            elements: asyncio.Queue[Any] = asyncio.Queue(1)
            with pytest.raises(kind):
                await to_queue(failed, elements, end=None)
            return elements.qsize()

        assert asyncio.run(main()) == 1

    def test_closed_queue_does_not_replace_an_interrupt(self) -> None:
        class Closed(queue.Queue[Any]):
            def put_nowait(self, item: Any) -> None:
                raise ValueError("closed")

        with pytest.raises(KeyboardInterrupt):
            to_queue(pyrs.just(1).concat(pyrs.error(KeyboardInterrupt())), Closed(), end=None)

    def test_timeout_of_the_end_marker_has_the_error_of_the_stream_as_its_cause(self) -> None:
        elements: queue.Queue[Any] = queue.Queue(1)
        with pytest.raises(TimeoutError, match="the queue was full") as raised:
            to_queue(pyrs.just(1).concat(pyrs.error(ValueError("no"))), elements, end=None, timeout=0.05)
        assert isinstance(raised.value.__cause__, ValueError)

    def test_timeout_of_a_full_queue_cancels(self) -> None:
        elements: queue.Queue[int] = queue.Queue(1)
        cancelled = threading.Event()
        stream = pyrs.just(1, 2, 3).concat(pyrs.never()).do_on_cancel(cancelled.set)
        with pytest.raises(TimeoutError, match="the queue was full"):
            to_queue(stream, elements, end=None, timeout=0.05)
        assert cancelled.is_set()
        assert (elements.get_nowait(), elements.empty()) == (1, True)

    def test_full_asyncio_queue_is_awaited(self) -> None:
        async def main() -> None:
            elements: asyncio.Queue[Any] = asyncio.Queue(1)
            pulled: list[int] = []
            filling = asyncio.ensure_future(to_queue(pyrs.range(3).do_on_next(pulled.append), elements, end=END))
            await eventually_on_loop(lambda: len(pulled) == 2)
            for _ in range(10):
                await asyncio.sleep(0)
            assert pulled == [0, 1]
            assert [await elements.get() for _ in range(4)] == [0, 1, 2, END]
            await asyncio.wait_for(filling, DEADLINE)
            with pytest.raises(ValueError, match="no"):
                await to_queue(pyrs.error(ValueError("no")), elements, end=END)
            assert elements.get_nowait() is END

        asyncio.run(main())

    def test_cancelled_task_cancels_the_stream(self) -> None:
        async def main() -> None:
            elements: asyncio.Queue[Any] = asyncio.Queue(1)
            source: TestPublisher[int] = TestPublisher()
            filling = asyncio.ensure_future(to_queue(source, elements, end=END))
            await asyncio.sleep(0)
            filling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await filling
            source.assert_cancelled()
            assert elements.empty()

        asyncio.run(main())

    def test_wrong_arguments_raise(self) -> None:
        with pytest.raises(TypeError, match="not the class Queue"):
            to_queue(pyrs.just(1), queue.Queue)  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="stream must be a Publisher"):
            to_queue([1], queue.Queue())  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="has no put"):
            to_queue(pyrs.range(1), [1])  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="wait_for"):
            to_queue(pyrs.range(1), asyncio.Queue(), timeout=1)  # type: ignore[call-overload]
        with pytest.raises(ValueError, match="timeout must be finite"):
            to_queue(pyrs.range(1), queue.Queue(), timeout=-1)
