"""The asyncio scheduler: tasks from its own thread and from others, cancellation and closing."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import Any

import pytest

import pyrs
from pyrs import schedulers
from pyrs.errors import SchedulerClosed
from pyrs.sinks import SubmissionPublisher
from pyrs.testing import TestPublisher, TestSubscriber
from tests.waiting import DEADLINE, eventually, on_threads, run_on_threads


def test_tasks_from_any_thread_run_on_the_loop_in_order() -> None:
    async def main() -> list[int]:
        scheduler = schedulers.asyncio()
        seen: list[int] = []
        here = threading.get_ident()
        done = asyncio.Event()

        def execute_tasks(first: int) -> None:
            for n in range(first, first + 100):
                scheduler.execute(lambda n=n: seen.append(n) if threading.get_ident() == here else None)  # type: ignore[misc]

        execute_tasks(0)
        assert seen == []  # tasks never run inside execute
        run_on_threads(lambda: (execute_tasks(100), scheduler.schedule(done.set)))
        await asyncio.wait_for(done.wait(), 30)
        return seen

    assert asyncio.run(main()) == list(range(200))


@pytest.mark.parametrize("call", [lambda work: work(), run_on_threads], ids=["its own thread", "another"])
def test_delayed_tasks_keep_their_order_and_can_be_cancelled(call: Any) -> None:
    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        scheduler = schedulers.asyncio(loop)
        seen: list[float] = []
        start = loop.time()
        loop.time = lambda: start  # type: ignore[method-assign]  # stop the clock while the tasks are scheduled
        done = asyncio.Event()

        def arm() -> None:
            for delay in (0.03, 0.01, 0.02):
                scheduler.schedule(lambda delay=delay: seen.append(delay), delay)  # type: ignore[misc]
            scheduler.schedule(done.set, 0.04)
            handle = scheduler.schedule(lambda: seen.append(0), 0.015)
            handle.cancel()
            handle.cancel()
            scheduler.schedule(lambda: seen.append(0)).cancel()

        call(arm)
        del loop.time
        await asyncio.wait_for(done.wait(), 30)
        return seen

    assert asyncio.run(main()) == [0.01, 0.02, 0.03]


@pytest.mark.parametrize("call", [lambda work: work(), run_on_threads], ids=["its own thread", "another"])
def test_cancelled_timers_are_removed_from_the_loop(call: Any) -> None:
    async def main() -> tuple[int, int]:
        loop = asyncio.get_running_loop()
        scheduler = schedulers.asyncio()

        handles: list[schedulers.Cancellable] = []
        call(lambda: handles.extend(scheduler.schedule(int, 60) for _ in range(2_000)))
        await asyncio.sleep(0)
        armed = len(loop._scheduled)  # type: ignore[attr-defined]
        call(lambda: [handle.cancel() for handle in handles])
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return armed, len(loop._scheduled)  # type: ignore[attr-defined]

    armed, remaining = asyncio.run(main())
    assert armed == 2_000
    assert remaining < 200


def test_exception_of_a_task_is_dropped_and_the_loop_continues(dropped: Any) -> None:
    async def main() -> None:
        scheduler = schedulers.asyncio()
        done = asyncio.Event()
        scheduler.execute(lambda: 1 / 0)
        scheduler.schedule(lambda: 1 / 0, 0.001)
        scheduler.schedule(done.set, 0.002)
        await asyncio.wait_for(done.wait(), 30)

    asyncio.run(main())
    assert [type(error) for error in dropped.take()] == [ZeroDivisionError] * 2


def test_interrupt_stops_the_loop() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    async def main() -> None:
        schedulers.asyncio().execute(interrupt)
        await asyncio.sleep(10)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())


def test_tasks_run_in_an_empty_context() -> None:
    variable = contextvars.ContextVar[str]("variable")

    async def main() -> list[int]:
        variable.set("mine")
        scheduler = schedulers.asyncio()
        sizes: list[int] = []
        done = asyncio.Event()

        def record_context_size() -> None:
            sizes.append(len(contextvars.copy_context()))

        scheduler.execute(record_context_size)
        scheduler.schedule(record_context_size, 0.001)
        scheduler.schedule(done.set, 0.002)
        await asyncio.wait_for(done.wait(), 30)
        return sizes

    assert asyncio.run(main()) == [0, 0]


def test_closed_loop_rejects_tasks_and_accepts_a_cancel() -> None:
    loop = asyncio.new_event_loop()
    scheduler = schedulers.asyncio(loop)
    handle = scheduler.schedule(int, 60)
    loop.close()
    for call in (scheduler.execute, scheduler.schedule, lambda task: scheduler.schedule(task, 1)):
        with pytest.raises(schedulers.SchedulerClosed):
            call(int)
    handle.cancel()
    assert scheduler.close()
    assert "closed" in repr(scheduler)


def test_close_waits_for_due_tasks_and_rejects_new_ones() -> None:
    async def main() -> list[Any]:
        scheduler = schedulers.asyncio()
        seen: list[Any] = []

        def close() -> None:
            scheduler.execute(lambda: seen.append("task"))
            seen.append(scheduler.close(30))

        await asyncio.get_running_loop().run_in_executor(None, close)
        for schedule in (scheduler.execute, lambda task: scheduler.schedule(task, 1)):
            with pytest.raises(schedulers.SchedulerClosed):
                schedule(int)
        seen.append(scheduler.close(30))  # close does not wait on the loop's own thread
        return seen

    assert asyncio.run(main()) == ["task", True, False]


def test_clock_is_the_loop_clock() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        before = loop.time()
        assert before <= schedulers.asyncio().now() <= loop.time()

    asyncio.run(main())


def test_wrong_loop_raises() -> None:
    with pytest.raises(RuntimeError, match="no asyncio loop runs on this thread"):
        schedulers.asyncio()
    with pytest.raises(TypeError, match="loop must be an asyncio event loop, not int"):
        schedulers.asyncio(3)  # type: ignore[arg-type]


def test_wrong_arguments_raise() -> None:
    async def main() -> None:
        scheduler = schedulers.asyncio()
        for call in (scheduler.execute, scheduler.schedule):
            with pytest.raises(TypeError, match="task must be callable"):
                call(3)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="delay"):
            scheduler.schedule(int, -1)

    asyncio.run(main())


@pytest.mark.parametrize("context", [False, True], ids=["empty context", "context"])
@pytest.mark.parametrize("operator", ["publish_on", "subscribe_on"])
def test_loop_that_is_closed_before_it_runs_a_drain_loop_fails_the_stream(operator: str, context: bool) -> None:
    loop = asyncio.new_event_loop()
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber(5, timeout=DEADLINE)

    def subscribe() -> None:
        if context:
            contextvars.ContextVar[int]("variable").set(1)
        getattr(source.stream(), operator)(schedulers.asyncio(loop)).subscribe(subscriber)

    contextvars.Context().run(subscribe)
    loop.close()
    subscriber.await_error(SchedulerClosed)


@pytest.mark.parametrize("started", [False, True])
def test_loop_that_is_closed_fails_a_subscriber_and_releases_a_waiting_submit(started: bool) -> None:
    loop = asyncio.new_event_loop()
    publisher: SubmissionPublisher[int] = SubmissionPublisher(schedulers.asyncio(loop), 1)
    subscriber: TestSubscriber[int] = TestSubscriber(5, timeout=DEADLINE)
    publisher.subscribe(subscriber)
    if started:
        loop.run_until_complete(asyncio.sleep(0))
        subscriber.await_subscription()
    with on_threads(lambda: [publisher.submit(n) for n in range(3)]):
        eventually(lambda: publisher.estimate_maximum_lag() == 2)
        loop.close()
    subscriber.await_error(SchedulerClosed)
    assert not publisher.has_subscribers


class ClosedDuringTheCall(asyncio.SelectorEventLoop):
    """Closed by another thread after a call has checked the loop, so that the callback stays in its queue."""

    def call_soon_threadsafe(self, callback: Any, *arguments: Any, **options: Any) -> asyncio.Handle:
        self.close()
        self.handle = asyncio.Handle(callback, arguments, self)
        return self.handle


@pytest.mark.parametrize(
    "publisher",
    [lambda scheduler: pyrs.never().publish_on(scheduler), SubmissionPublisher],
    ids=["publish_on", "SubmissionPublisher"],
)
def test_loop_that_is_closed_while_it_accepts_a_task_fails_the_stream(publisher: Any) -> None:
    loop = ClosedDuringTheCall()
    subscriber: TestSubscriber[int] = TestSubscriber(5, timeout=DEADLINE)
    publisher(schedulers.asyncio(loop)).subscribe(subscriber)
    subscriber.await_error(SchedulerClosed)
