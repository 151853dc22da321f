"""No signal is lost if another thread changes a field between a read and the write or call that follows it.

Such an interleaving is rare; these tests force it.
"""

from __future__ import annotations

import asyncio
import threading
import types
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator
from functools import partial
from typing import Any

import pytest

import pyrs
from pyrs import schedulers
from pyrs._core import hooks
from pyrs.aio.subscribers import QueueingSubscriber
from pyrs.operators.buffering import BufferCount
from pyrs.operators.combining import Concat
from pyrs.operators.filtering import TakeLast
from pyrs.operators.flattening import SwitchMap
from pyrs.operators.scheduling import Crossing, PublishOn, SubscribeOn
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.conftest import Hidden
from tests.waiting import DEADLINE, run_on_threads


def after_next_read(
    target: Any, name: str, intrude: Callable[[], object], on_write: Callable[[Any], object] = lambda value: None
) -> None:
    """Run ``intrude`` once, after the next read of the attribute, and ``on_write`` after each write."""
    pending = [intrude]

    def read(self: Any) -> Any:
        value = self.__dict__[name]
        if pending:
            pending.pop()()
        return value

    def write(self: Any, value: Any) -> None:
        self.__dict__[name] = value
        on_write(value)

    target.__class__ = type(type(target).__name__, (type(target),), {name: property(read, write)})


class Emptied(deque[Any]):
    """A queue that loses its elements right after the first check that found one, as if another thread took them."""

    emptied = False

    def __len__(self) -> int:
        length = super().__len__()
        if length and not self.emptied:
            self.emptied = True
            self.clear()
        return length


class ObservedLock:
    """A lock that notifies an observer when a second thread waits for it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.is_awaited = threading.Event()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self.is_awaited.set()
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def start(self, action: Callable[[], object]) -> threading.Thread:
        """Run the action on a thread; return when it has finished or waits for the lock."""

        def run() -> None:
            action()
            self.is_awaited.set()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        assert self.is_awaited.wait(DEADLINE)
        return thread


class Hasty(schedulers.VirtualTime):
    """Runs a delayed task on another thread before ``schedule`` returns."""

    def schedule(self, task: Callable[[], object], delay: float = 0.0) -> Any:
        handle = super().schedule(task, delay)
        run_on_threads(partial(self.advance_by, delay))
        return handle


class Recording(pyrs.Publisher[Any]):
    """Stores its Subscriber, which the test subscribes to another Publisher."""

    subscriber: Any = None

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        self.subscriber = subscriber


def test_arbiter_keeps_a_source_that_is_chosen_while_the_drain_loop_finds_none() -> None:
    first, second = TestPublisher[int](), TestPublisher[int]()
    subscriber: TestSubscriber[int] = TestSubscriber(1)
    run: Any = Concat([first, second]).run(subscriber)
    run.start()
    after_next_read(run, "_upcoming", first.complete)
    run.run_here()
    second.next(1).complete()
    assert subscriber.await_complete(0.0) == [1]


def test_hub_answers_illegal_request_that_arrives_while_it_adds_subscriber() -> None:
    sink = pyrs.sinks.multicast(8)
    late: TestSubscriber[int] = TestSubscriber(1)

    def request_illegally() -> None:
        assert early.subscription is not None
        early.subscription.request(0)

    def subscribe_late(_: Any, element: int) -> None:
        after_next_read(sink, "_has_illegal_request", request_illegally)
        sink.subscribe(late)

    early: TestSubscriber[int] = TestSubscriber(5, on_element=subscribe_late)
    sink.subscribe(early)
    sink.try_emit(1)
    assert isinstance(early.error, pyrs.NonPositiveRequest)
    late.assert_live()


def test_publish_on_continues_on_second_thread_while_first_thread_leaves_drain_loop() -> None:
    tasks: deque[Callable[[], None]] = deque()
    written, resumed = threading.Event(), threading.Event()
    subscriber: TestSubscriber[int] = TestSubscriber(1)
    source = Hidden(pyrs.range(600))
    run: Any = Crossing(subscriber, PublishOn(source, schedulers.default(), 600), 600, execute=tasks.append)
    second: list[threading.Thread] = []

    def drain_on_second_thread() -> None:
        subscriber.request(500)
        second.append(threading.Thread(target=tasks.popleft(), daemon=True))
        second[0].start()
        assert written.wait(DEADLINE)

    def pause_second_thread(more: bool) -> None:
        if more and not written.is_set():
            written.set()
            assert resumed.wait(DEADLINE)

    run.start()
    after_next_read(run, "_more", drain_on_second_thread, pause_second_thread)
    tasks.popleft()()  # emits the first element, and then reads whether another task must emit the rest
    resumed.set()
    second[0].join(DEADLINE)
    while tasks:
        tasks.popleft()()
    assert subscriber.elements == [*range(501)]


def test_subscribe_on_subscribes_while_task_of_earlier_request_runs() -> None:
    source = TestPublisher[int]()
    run: Any = SubscribeOn(source, schedulers.inline()).run(TestSubscriber[int](0))
    after_next_read(run._calls, "_source", lambda: run._calls.subscribe(source))
    run._calls.request(3)
    source.await_requested(3)


def test_switch_map_accepts_that_a_pending_element_is_replaced_after_the_check() -> None:
    source = TestPublisher[int]()
    subscriber: TestSubscriber[int] = TestSubscriber(None)
    run: Any = SwitchMap(source, pyrs.just, 8).run(subscriber)
    run._input.newest = Emptied()
    run.start()
    source.next(1, 2).complete()
    assert subscriber.await_complete(0.0) == [2]


def test_cancel_of_queued_signals_accepts_that_the_loop_takes_the_last_signal() -> None:
    class Queue(QueueingSubscriber):
        def _begin(self) -> None: ...
        def _put(self, name: str, argument: Any = None) -> None: ...
        def request(self, n: int, /) -> None: ...
        def cancel(self) -> None: ...

    queue = Queue(None)
    queue._signals = Emptied([("on_next", 1)])
    queue._cancel()
    assert queue._ended


def test_timeout_keeps_the_fallback_that_it_chose_before_the_source_was_subscribed() -> None:
    source, fallback = TestPublisher[int](), Recording()
    subscriber: TestSubscriber[int] = TestSubscriber(None)
    pyrs.Stream(source).timeout(1.0, fallback=fallback, scheduler=Hasty()).subscribe(subscriber)
    pyrs.just(7).subscribe(fallback.subscriber)
    assert subscriber.await_complete(0.0) == [7]


@pytest.mark.parametrize(("stage", "field"), [(TakeLast(2), "_last"), (BufferCount(3, None), "_chunk")], ids=str)
def test_release_and_completion_on_two_threads_discard_each_element_once(stage: Any, field: str) -> None:
    discarded: list[int] = []
    run: Any = stage.run()
    run._lock = lock = ObservedLock()
    run.discard = discarded.append
    run.discard_all = partial(hooks.discard_all, (discarded.append,))
    run.begin_discarding()
    run.on_next(1)
    run.on_next(2)
    completing: list[threading.Thread] = []
    after_next_read(run, field, lambda: completing.append(lock.start(run.on_complete)))
    run.release()
    completing[0].join(DEADLINE)
    assert sorted(discarded) == [1, 2]


def test_best_effort_sink_counts_elements_that_two_threads_drop() -> None:
    sink: Any = pyrs.sinks.multicast_best_effort()
    sink.subscribe(TestSubscriber[int](None))
    sink.subscribe(TestSubscriber[int](0))
    sink.dropped = 0
    sink._lock = lock = ObservedLock()
    pushing: list[threading.Thread] = []
    after_next_read(sink, "dropped", lambda: pushing.append(lock.start(lambda: sink.try_emit(2))))
    sink.try_emit(1)
    pushing[0].join(DEADLINE)
    assert sink.dropped == 2


@types.coroutine
def resumed(coroutine: Any, awaited: Any) -> Generator[Any, Any, Any]:
    """Continue a coroutine that waits for a future."""
    while True:
        sent = yield awaited
        try:
            awaited = coroutine.send(sent)
        except StopIteration as end:
            return end.value


def test_request_during_eager_start_of_task_wakes_task() -> None:
    async def numbers() -> AsyncIterator[int]:
        yield 1

    async def continued(coroutine: Any, awaited: Any) -> Any:
        return await resumed(coroutine, awaited)

    async def main() -> list[int]:
        loop = asyncio.get_running_loop()
        subscriber: TestSubscriber[int] = TestSubscriber(0)

        def create(_: object, coroutine: Any, **options: Any) -> Any:
            awaited = coroutine.send(None)  # like an eager task factory, which Python has since 3.12
            run_on_threads(partial(subscriber.request, 2))
            return asyncio.Task(continued(coroutine, awaited), loop=loop)

        loop.set_task_factory(create)
        pyrs.from_async_iterable(numbers()).subscribe(subscriber)
        loop.set_task_factory(None)
        for _ in range(100):  # a few iterations of the loop suffice
            if subscriber.ended:
                break
            await asyncio.sleep(0)
        return subscriber.await_complete(0.0)

    assert asyncio.run(main()) == [1]
