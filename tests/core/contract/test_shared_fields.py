"""Another thread changes a field between a read and the write, or the call, that follows it.

Without the GIL this happens by chance; here it is forced. No signal may be lost.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import pyrs
from pyrs import schedulers
from pyrs.aio.subscribers import QueueingSubscriber
from pyrs.operators.combining import Concat
from pyrs.operators.flattening import SwitchMap
from pyrs.operators.scheduling import Crossing, PublishOn, SubscribeOn
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.conftest import Hidden
from tests.waiting import DEADLINE


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
    """A queue that another thread empties once, right after a check that it has an element."""

    emptied = False

    def __len__(self) -> int:
        length = super().__len__()
        if length and not self.emptied:
            self.emptied = True
            self.clear()
        return length


def test_arbiter_keeps_source_that_is_chosen_while_drain_loop_finds_none() -> None:
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
    tasks.popleft()()  # emits the first element, and then looks whether more were left to the next task
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


def test_switch_map_waits_for_element_that_replaces_one_it_has_seen() -> None:
    source = TestPublisher[int]()
    subscriber: TestSubscriber[int] = TestSubscriber(None)
    run: Any = SwitchMap(source, pyrs.just, 8).run(subscriber)
    run._outer.newest = Emptied()
    run.start()
    source.next(1, 2).complete()
    assert subscriber.await_complete(0.0) == [2]


def test_cancel_of_queued_signals_accepts_that_loop_takes_last_one() -> None:
    class Queue(QueueingSubscriber):
        def _begin(self) -> None: ...
        def _put(self, name: str, argument: Any = None) -> None: ...
        def request(self, n: int, /) -> None: ...
        def cancel(self) -> None: ...

    queue = Queue(None)
    queue._signals = Emptied([("on_next", 1)])
    queue._cancel()
    assert queue._over
