"""Properties shared by window and group_by: context, error reporting, locking, and parts that are never read.

A part is a window or a group.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Callable
from contextvars import Context, ContextVar
from typing import Any

import pytest

import pyrs
from pyrs import schedulers
from pyrs.schedulers import Cancellable, VirtualTime
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.locking import Element, LockCheckingScheduler, is_free
from tests.core.support import frequent_collections, run_with_deadline, subscribe
from tests.waiting import DEADLINE, collected

variable = ContextVar("variable", default="nothing")

Split = Callable[[pyrs.Stream[Any]], pyrs.Stream[Any]]

SPLITS: dict[str, Split] = {
    "groups": lambda stream: stream.group_by(lambda element: 0),
    "windows": lambda stream: stream.window(100),
    "timed windows": lambda stream: stream.window(seconds=60.0),
}


@pytest.fixture(params=SPLITS)
def split(request: pytest.FixtureRequest) -> Split:
    return SPLITS[request.param]


def in_context(value: str, action: Callable[[], Any]) -> Any:
    def run_action() -> Any:
        variable.set(value)
        return action()

    return Context().run(run_action)


# Context.


def test_part_signals_in_the_context_of_its_subscriber(split: Split) -> None:
    source: TestPublisher[int] = TestPublisher()
    parts: TestSubscriber[Any] = TestSubscriber(None)
    seen: list[str] = []

    def note(*signal: object) -> None:
        seen.append(variable.get())

    in_context("outer", lambda: split(source.stream()).subscribe(parts))
    source.next(1)
    in_context("inner", lambda: parts.elements[0].subscribe(on_next=note, on_complete=note))
    source.next(2)
    in_context("upstream", source.complete)
    assert seen == ["inner"] * 3
    parts.assert_complete()


# Errors.


@pytest.mark.parametrize("flat", ["flat_map", "concat_map"])
def test_error_delivered_by_a_part_is_not_dropped(split: Split, flat: str) -> None:
    failure = OSError("no")
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber(None)
    getattr(split(source.stream()), flat)(lambda part: part).subscribe(subscriber)
    source.next(1, 2).error(failure)  # a dropped error fails this test
    subscriber.assert_elements(1, 2).assert_error(OSError)


def test_error_pending_in_a_part_is_not_dropped(split: Split) -> None:
    failure = OSError("no")
    source: TestPublisher[int] = TestPublisher()
    parts: TestSubscriber[Any] = TestSubscriber(1)
    split(source.stream()).subscribe(parts)
    source.next(1)
    reader = subscribe(parts.elements[0], 0)
    parts.cancel()
    source.error(failure)
    reader.assert_live()
    reader.request(1)
    reader.assert_error(OSError)


def test_pending_error_is_dropped_when_the_last_reader_cancels(split: Split, dropped: Any) -> None:
    failure = OSError("no")
    source: TestPublisher[int] = TestPublisher()
    parts: TestSubscriber[Any] = TestSubscriber(1)
    split(source.stream()).subscribe(parts)
    source.next(1)
    reader = subscribe(parts.elements[0], 0)
    parts.cancel()
    source.error(failure)
    assert dropped.take() == []
    reader.cancel()
    assert dropped.take() == [failure]


def test_exception_of_the_key_function_after_cancel_is_dropped(dropped: Any) -> None:
    failure = OSError("no")
    source: TestPublisher[int] = TestPublisher()
    groups: TestSubscriber[Any] = TestSubscriber(9)

    def key(n: int) -> int:
        groups.cancel()
        raise failure

    source.stream().group_by(key).subscribe(groups)
    source.next(1)
    assert dropped.take() == [failure]
    source.assert_cancelled(1)


# Locks.


def test_elements_are_released_with_no_lock_held(split: Split) -> None:
    source: TestPublisher[Any] = TestPublisher()
    parts: TestSubscriber[Any] = TestSubscriber(None)
    split(source.stream()).subscribe(parts)
    free: list[bool] = []
    source.next(Element(lambda: free.append(is_free(lock))))
    lock = parts.elements[0].source.part.dispatcher.lock
    reader = subscribe(parts.elements[0], 0)
    run_with_deadline(reader.cancel)
    assert free == [True]
    parts.cancel()


def test_finalizer_can_cancel_a_group_while_another_is_cancelled() -> None:
    source: TestPublisher[Any] = TestPublisher()
    groups: TestSubscriber[Any] = TestSubscriber(None)
    keys = iter([0, 1, 0])
    source.stream().group_by(lambda element: next(keys)).subscribe(groups)
    source.next("a", "b")
    readers = [subscribe(group, 0) for group in groups.elements]
    source.next(Element(readers[1].cancel))
    run_with_deadline(readers[0].cancel)
    groups.cancel()
    source.assert_cancelled(1)


def test_finalizer_can_cancel_while_a_part_is_opened(split: Split) -> None:
    source: TestPublisher[Any] = TestPublisher()
    parts: TestSubscriber[Any] = TestSubscriber(9)
    stream = split(source.stream())
    wrap = stream.source.wrap  # type: ignore[attr-defined]

    def cancelling(part: Any) -> Any:
        parts.cancel()  # simulates a finalizer that runs here
        return wrap(part)

    stream.source.wrap = cancelling  # type: ignore[attr-defined]
    stream.subscribe(parts)
    run_with_deadline(lambda: source.next("a"))
    parts.assert_elements()
    source.assert_cancelled(1)


def test_garbage_collector_can_release_a_reader_at_any_allocation() -> None:
    class Holder:
        """References itself, so that only the garbage collector can free it."""

        def __init__(self, reader: object) -> None:
            self.itself = self
            self.reader = reader

    def read(part: pyrs.Stream[Any]) -> None:
        reader = part.to_iterable()
        next(reader)
        Holder(reader)

    splits: list[Split] = [
        lambda stream: stream.group_by(str, max_groups=10**6, prefetch=10**6),
        lambda stream: stream.window(1),
        lambda stream: stream.window(2, seconds=60.0),
    ]

    def run() -> None:
        for split in splits:
            source: TestPublisher[int] = TestPublisher()
            split(source.stream()).subscribe(on_next=read)
            for n in range(400):
                source.next(n)

    with frequent_collections():
        run_with_deadline(run)


def test_scheduler_is_called_with_no_lock_held() -> None:
    scheduler = LockCheckingScheduler()
    source: TestPublisher[int] = TestPublisher()
    windows: TestSubscriber[Any] = TestSubscriber(None)
    source.stream().window(2, seconds=1.0, scheduler=scheduler).subscribe(windows)
    source.next(1)
    scheduler.lock = windows.elements[0].source.part.dispatcher.lock
    source.next(2, 3)  # the window is full: its timer is cancelled, and a new window arms a new timer
    assert scheduler.free == [True, True]
    scheduler.time.advance_by(1.0)
    assert scheduler.time.pending == 0
    source.next(4)
    assert scheduler.time.pending == 1
    source.complete()
    assert scheduler.time.pending == 0
    assert scheduler.free == [True] * 4
    assert [subscribe(window).assert_complete().elements for window in windows.elements] == [[1, 2], [3], [4]]


def test_timer_that_fires_while_it_is_armed_closes_the_window() -> None:
    class ImmediateScheduler(LockCheckingScheduler):
        def schedule(self, task: Callable[[], object], delay: float = 0.0) -> Cancellable:
            handle = super().schedule(task, delay)
            task()
            return handle

    scheduler = ImmediateScheduler()
    source: TestPublisher[int] = TestPublisher()
    windows: TestSubscriber[Any] = TestSubscriber(None)
    source.stream().window(seconds=1.0, scheduler=scheduler).subscribe(windows)
    source.next(1, 2)
    assert scheduler.time.pending == 0
    assert [subscribe(window).assert_complete().elements for window in windows.elements] == [[1], [2]]
    windows.cancel()


def test_cancel_while_a_timer_is_armed_leaves_no_timer() -> None:
    source: TestPublisher[int] = TestPublisher()
    windows: TestSubscriber[Any] = TestSubscriber(None)

    class CancellingScheduler(LockCheckingScheduler):
        def schedule(self, task: Callable[[], object], delay: float = 0.0) -> Cancellable:
            handle = super().schedule(task, delay)
            run_with_deadline(windows.cancel)
            return handle

    scheduler = CancellingScheduler()
    source.stream().window(seconds=1.0, scheduler=scheduler).subscribe(windows)
    source.next(1)
    source.assert_cancelled(1)
    assert scheduler.time.pending == 0


def test_closed_scheduler_fails_the_window_and_the_stream_once() -> None:
    with schedulers.use(VirtualTime()) as time:
        source: TestPublisher[int] = TestPublisher()
        windows: TestSubscriber[Any] = TestSubscriber(None)
        source.stream().window(seconds=1.0).subscribe(windows)
        source.next(1)
        reader = subscribe(windows.elements[0])
        dispatcher = windows.elements[0].source.part.dispatcher
        time.close()
        dispatcher._refused(schedulers.SchedulerClosed("closed"))
        dispatcher._refused(schedulers.SchedulerClosed("closed"))
        windows.assert_error(schedulers.SchedulerClosed)
        reader.assert_elements(1).assert_error(schedulers.SchedulerClosed)
        source.assert_cancelled(1)


# Parts that become unreachable before they are read.

BUFFERING: dict[str, Callable[[pyrs.Stream[Any]], pyrs.Stream[Any]]] = {
    "concat_map": lambda parts: parts.concat_map(lambda part: part),
    "prefetch": lambda parts: parts.prefetch(8).concat_map(lambda part: part),
    "buffer": lambda parts: parts.buffer(5).flat_map(pyrs.merge),
    "timed buffer": lambda parts: parts.buffer(seconds=60).flat_map(pyrs.merge),
    "to_list": lambda parts: parts.to_list(),
    "take_last": lambda parts: parts.take_last(5),
    "scan": lambda parts: parts.scan(lambda before, part: part).filter(lambda part: False),
    "flat_map": lambda parts: parts.flat_map(lambda part: part, concurrency=1),
    "switch_map": lambda parts: parts.switch_map(lambda part: part),
    "publish_on": lambda parts: parts.publish_on(schedulers.inline()).flat_map(lambda part: part),
    "zip": lambda parts: parts.zip(pyrs.never()),
    "combine_latest": lambda parts: parts.combine_latest(pyrs.never()),
    "debounce": lambda parts: parts.debounce(60),
    "sample": lambda parts: parts.sample(60),
    "on_backpressure_buffer": lambda parts: parts.on_backpressure_buffer(8).concat_map(lambda part: part),
    "on_backpressure_latest": lambda parts: parts.on_backpressure_latest().concat_map(lambda part: part),
    "share": lambda parts: parts.share().buffer(5),
    "operators on the part": lambda parts: parts.map(lambda part: part.map(str).take(1).concat(part)).buffer(5),
}


@pytest.mark.parametrize("kind", [str, 1, 60.0])
@pytest.mark.parametrize("buffering", BUFFERING)
def test_upstream_is_cancelled_if_an_operator_discards_unread_parts(kind: Any, buffering: str) -> None:
    def split(stream: pyrs.Stream[Any]) -> pyrs.Stream[Any]:
        if kind is str:
            return stream.group_by(str)
        return stream.window(100, skip=1) if kind == 1 else stream.window(seconds=kind)

    source: TestPublisher[int] = TestPublisher()
    reader: TestSubscriber[Any] = TestSubscriber(None)
    with schedulers.use(VirtualTime()) as time:
        BUFFERING[buffering](split(source.stream())).subscribe(reader)
        source.next(1, 2)
        reader.cancel()
        reader.elements.clear()
        collected(lambda: source.cancel_count and not time.pending)  # the finalizer cancels upstream, then the timer
        source.assert_cancelled(1)


def test_releasing_an_unread_group_runs_no_upstream_code_on_that_thread() -> None:
    """The thread that releases the group may hold any lock, so upstream code runs on another thread."""
    lock, continued = threading.Lock(), threading.Event()
    threads: set[str] = set()
    groups_seen: list[Any] = []

    def count(element: int) -> int:
        with lock:
            threads.add(threading.current_thread().name)
        if element == 8:
            continued.set()
        return element

    pyrs.range(100).map(count).group_by(lambda n: n % 2, prefetch=8).subscribe(on_next=groups_seen.append)
    with lock:
        groups_seen.clear()
        gc.collect()
    collected(continued.is_set)
    with lock:
        assert any(name.startswith("pyrs-default") for name in threads - {threading.current_thread().name})


def test_group_cancelled_before_it_is_read_cancels_upstream() -> None:
    source: TestPublisher[int] = TestPublisher()
    reader: TestSubscriber[Any] = TestSubscriber(None)

    def cancelling(group: Any) -> Any:
        reader.cancel()
        return group

    source.stream().group_by(str).flat_map(cancelling).subscribe(reader)
    source.next(1)
    source.assert_cancelled(1)


def test_part_referenced_through_an_operator_stays_readable(split: Split) -> None:
    source: TestPublisher[int] = TestPublisher()
    parts: TestSubscriber[Any] = TestSubscriber(None)
    split(source.stream()).subscribe(parts)
    source.next(1)
    operators_on_part = [parts.elements.pop().map(str).filter(bool)]
    parts.cancel()
    gc.collect()
    source.next(2)
    reader = subscribe(operators_on_part.pop())
    gc.collect()
    source.next(3)
    assert reader.elements == ["1", "2", "3"]
    source.assert_not_cancelled()
    reader.cancel()
    source.assert_cancelled(1)


def test_unreachable_group_blocks_no_other_group_and_is_not_reopened() -> None:
    keys = pyrs.range(3000).group_by(lambda n: n % 3, prefetch=4).map(lambda group: group.key)
    assert keys.collect() == [0, 1, 2]
    odd = pyrs.range(1000).group_by(lambda n: n % 2, prefetch=4).filter(lambda group: group.key).flat_map(pyrs.Stream)
    assert odd.collect() == list(range(1, 1000, 2))
    many = pyrs.range(9).group_by(str, max_groups=3).map(lambda group: group.key)
    with pytest.raises(pyrs.errors.BufferOverflow):
        many.collect()


def test_unreachable_window_discards_its_elements_until_it_closes() -> None:
    source: TestPublisher[Any] = TestPublisher()
    live: list[object] = []
    with schedulers.use(VirtualTime()) as time:
        source.stream().window(seconds=1, prefetch=2).map(lambda window: 1).subscribe(on_next=live.append)
        for _ in range(50):
            source.next(Element(lambda: live.append("released")))
        assert live == [1] + ["released"] * 50
        time.advance_by(1)
        source.next("x")
        assert live[-1] == 1
        assert live.count(1) == 2
    source.complete()


def test_garbage_collector_can_release_an_unread_part_at_any_allocation(split: Split) -> None:
    class Cycle:
        def __init__(self, part: object) -> None:
            self.itself = self
            self.part = part

    source: TestPublisher[int] = TestPublisher()

    def run() -> None:
        parts = split(source.stream()).subscribe(on_next=Cycle)
        source.next(*range(99))
        parts.cancel()
        collected(lambda: source.cancel_count)

    with frequent_collections():
        run_with_deadline(run)
    source.assert_cancelled(1)


@pytest.mark.parametrize("call", ["group_by(bool, prefetch=2)", "window_until_changed(prefetch=2)"])
def test_program_with_an_unread_part_exits(call: str) -> None:
    program = f"""
import pyrs
from pyrs.testing import TestSubscriber
parts = TestSubscriber(pyrs.UNBOUNDED)
pyrs.range(10).concat(pyrs.empty()).{call}.subscribe(parts)
assert parts.elements
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=DEADLINE, check=False).returncode == 0


def test_interrupt_before_a_part_is_subscribed_to_cancels_the_source(split: Split) -> None:
    class EmitsOnce(pyrs.Publisher[int], pyrs.Subscription):
        emitted = cancelled = False

        def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
            self.subscriber = subscriber
            subscriber.on_subscribe(self)

        def request(self, n: int, /) -> None:
            if not self.emitted:
                self.emitted = True
                self.subscriber.on_next(1)

        def cancel(self) -> None:
            self.cancelled = True

    def interrupt(part: object) -> pyrs.Stream[int]:
        raise KeyboardInterrupt

    source = EmitsOnce()
    try:
        split(pyrs.Stream(source)).concat_map(interrupt).collect(timeout=DEADLINE)
    except KeyboardInterrupt:
        pass
    collected(lambda: source.cancelled, "the source was not cancelled")
