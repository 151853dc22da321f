"""What windows and groups have in common: their context, who hears of an error, what runs under no lock."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from contextvars import Context, ContextVar
from typing import Any

import pytest

import pyrs
from pyrs import schedulers
from pyrs.schedulers import Cancellable, Scheduler, VirtualTime
from pyrs.testing import TestPublisher, TestSubscriber
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
    def act() -> Any:
        variable.set(value)
        return action()

    return Context().run(act)


def listen(part: pyrs.Publisher[Any], request: int | None = None) -> TestSubscriber[Any]:
    subscriber: TestSubscriber[Any] = TestSubscriber(request)
    part.subscribe(subscriber)
    return subscriber


# Context.


def test_a_part_is_signalled_in_the_context_of_whoever_subscribed_to_it(split: Split) -> None:
    source: TestPublisher[int] = TestPublisher()
    parts: TestSubscriber[Any] = TestSubscriber(None)
    seen: list[str] = []

    def note(*signal: object) -> None:
        seen.append(variable.get())

    in_context("outer", lambda: split(source.stream()).subscribe(parts))
    source.next(1)
    in_context("inner", lambda: parts.elements[0].subscribe(on_next=note, on_complete=note))
    source.next(2)
    in_context("upstream's", source.complete)
    assert seen == ["inner"] * 3
    parts.assert_complete()


# Errors.


@pytest.mark.parametrize("flat", ["flat_map", "concat_map"])
def test_an_error_that_was_delivered_by_a_part_is_not_reported_too(split: Split, flat: str) -> None:
    failure = OSError("no")
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber(None)
    getattr(split(source.stream()), flat)(lambda part: part).subscribe(subscriber)
    source.next(1, 2).error(failure)  # what reached the hook fails this test
    subscriber.assert_elements(1, 2).assert_error(OSError)


def test_an_error_that_a_part_has_yet_to_deliver_is_not_reported(split: Split, dropped: Any) -> None:
    failure = OSError("no")
    source: TestPublisher[int] = TestPublisher()
    parts: TestSubscriber[Any] = TestSubscriber(1)
    split(source.stream()).subscribe(parts)
    source.next(1)
    reader = listen(parts.elements[0], 0)
    parts.cancel()
    source.error(failure)
    reader.assert_live()
    reader.request(1)
    reader.assert_error(OSError)


def test_an_error_is_reported_when_the_last_who_was_to_be_told_it_has_gone(split: Split, dropped: Any) -> None:
    failure = OSError("no")
    source: TestPublisher[int] = TestPublisher()
    parts: TestSubscriber[Any] = TestSubscriber(1)
    split(source.stream()).subscribe(parts)
    source.next(1)
    reader = listen(parts.elements[0], 0)
    parts.cancel()
    source.error(failure)
    assert dropped.take() == []
    reader.cancel()
    assert dropped.take() == [failure]


def test_what_a_function_raises_after_a_cancel_is_reported(dropped: Any) -> None:
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


class Element:
    """Does something when it is let go of."""

    def __init__(self, action: Callable[[], object]) -> None:
        self.action = action

    def __del__(self) -> None:
        self.action()


def finishes(action: Callable[[], object]) -> None:
    raised: list[BaseException] = []

    def act() -> None:
        try:
            action()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(2 * DEADLINE)  # it may wait for something itself
    assert not thread.is_alive()
    assert raised == []


def is_free(lock: Any) -> bool:
    """Return whether another thread could take the lock."""
    free: list[bool] = []

    def look() -> None:
        free.append(lock.acquire(blocking=False))
        if free[0]:
            lock.release()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join(DEADLINE)
    return free[0]


def test_elements_are_let_go_of_outside_the_lock(split: Split) -> None:
    source: TestPublisher[Any] = TestPublisher()
    parts: TestSubscriber[Any] = TestSubscriber(None)
    split(source.stream()).subscribe(parts)
    free: list[bool] = []
    source.next(Element(lambda: free.append(is_free(lock))))
    lock = parts.elements[0].source.part.dealer.lock
    reader = listen(parts.elements[0], 0)
    finishes(reader.cancel)
    assert free == [True]
    parts.cancel()


def test_a_finalizer_may_cancel_a_group_while_another_one_is_left() -> None:
    source: TestPublisher[Any] = TestPublisher()
    groups: TestSubscriber[Any] = TestSubscriber(None)
    keys = iter([0, 1, 0])
    source.stream().group_by(lambda element: next(keys)).subscribe(groups)
    source.next("a", "b")
    readers = [listen(group, 0) for group in groups.elements]
    source.next(Element(readers[1].cancel))
    finishes(readers[0].cancel)
    groups.cancel()
    source.assert_cancelled(1)


def test_a_finalizer_may_cancel_all_while_a_part_is_opened(split: Split) -> None:
    source: TestPublisher[Any] = TestPublisher()
    parts: TestSubscriber[Any] = TestSubscriber(9)
    stream = split(source.stream())
    wrap = stream.source.wrap  # type: ignore[attr-defined]

    def cancelling(part: Any) -> Any:
        parts.cancel()  # as if the collector ran a finalizer here
        return wrap(part)

    stream.source.wrap = cancelling  # type: ignore[attr-defined]
    stream.subscribe(parts)
    finishes(lambda: source.next("a"))
    parts.assert_elements()
    source.assert_cancelled(1)


def test_the_collector_may_let_go_of_a_reader_wherever_it_strikes() -> None:
    class Holder:
        """Is let go of by the collector alone, for it holds itself."""

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

    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        finishes(run)
    finally:
        gc.set_threshold(*before)


class Watching(Scheduler):
    """A user's scheduler: its code may do anything, so nothing may be locked while it runs."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        self.lock: Any = None
        self.free: list[bool] = []

    def look(self) -> None:
        if self.lock is not None:
            self.free.append(is_free(self.lock))

    def now(self) -> float:
        return self.time.now()

    def schedule(self, task: Callable[[], object], delay: float = 0.0) -> Cancellable:
        self.look()
        handle = self.time.schedule(task, delay)
        watching = self

        class Handle(Cancellable):
            def cancel(self) -> None:
                watching.look()
                handle.cancel()

        return Handle()

    def execute(self, task: Callable[[], object]) -> None:
        self.time.execute(task)

    def close(self, timeout: float = 5.0) -> bool:
        return self.time.close(timeout)


def test_a_scheduler_is_called_outside_the_lock() -> None:
    scheduler = Watching()
    source: TestPublisher[int] = TestPublisher()
    windows: TestSubscriber[Any] = TestSubscriber(None)
    source.stream().window(2, seconds=1.0, scheduler=scheduler).subscribe(windows)
    source.next(1)
    scheduler.lock = windows.elements[0].source.part.dealer.lock
    source.next(2, 3)  # full: the timer is cancelled; another window, another timer
    assert scheduler.free == [True, True]
    scheduler.time.advance_by(1.0)
    assert scheduler.time.pending == 0
    source.next(4)
    assert scheduler.time.pending == 1
    source.complete()
    assert scheduler.time.pending == 0
    assert scheduler.free == [True] * 4
    assert [listen(window).assert_complete().elements for window in windows.elements] == [[1, 2], [3], [4]]


def test_a_timer_that_goes_off_while_it_is_being_set() -> None:
    class Immediate(Watching):
        def schedule(self, task: Callable[[], object], delay: float = 0.0) -> Cancellable:
            handle = super().schedule(task, delay)
            task()
            return handle

    scheduler = Immediate()
    source: TestPublisher[int] = TestPublisher()
    windows: TestSubscriber[Any] = TestSubscriber(None)
    source.stream().window(seconds=1.0, scheduler=scheduler).subscribe(windows)
    source.next(1, 2)
    assert scheduler.time.pending == 0
    assert [listen(window).assert_complete().elements for window in windows.elements] == [[1], [2]]
    windows.cancel()


def test_a_cancel_while_a_timer_is_being_set_leaves_none_behind() -> None:
    source: TestPublisher[int] = TestPublisher()
    windows: TestSubscriber[Any] = TestSubscriber(None)

    class Cancelling(Watching):
        def schedule(self, task: Callable[[], object], delay: float = 0.0) -> Cancellable:
            handle = super().schedule(task, delay)
            finishes(windows.cancel)
            return handle

    scheduler = Cancelling()
    source.stream().window(seconds=1.0, scheduler=scheduler).subscribe(windows)
    source.next(1)
    source.assert_cancelled(1)
    assert scheduler.time.pending == 0


def test_a_scheduler_that_is_closed_fails_the_window_and_the_stream_once() -> None:
    with schedulers.use(VirtualTime()) as time:
        source: TestPublisher[int] = TestPublisher()
        windows: TestSubscriber[Any] = TestSubscriber(None)
        source.stream().window(seconds=1.0).subscribe(windows)
        source.next(1)
        reader = listen(windows.elements[0])
        dealer = windows.elements[0].source.part.dealer
        time.close()
        dealer._refused(windows.elements[0].source.part, schedulers.SchedulerClosed("closed"))
        dealer._refused(windows.elements[0].source.part, schedulers.SchedulerClosed("closed"))
        windows.assert_error(schedulers.SchedulerClosed)
        reader.assert_elements(1).assert_error(schedulers.SchedulerClosed)
        source.assert_cancelled(1)


# Parts that nobody can read any more.

HOLDING: dict[str, Callable[[pyrs.Stream[Any]], pyrs.Stream[Any]]] = {
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
    "operators upon it": lambda parts: parts.map(lambda part: part.map(str).take(1).concat(part)).buffer(5),
}


@pytest.mark.parametrize("several", [str, 1, 60.0])
@pytest.mark.parametrize("holding", HOLDING)
def test_upstream_is_cancelled_though_parts_that_were_held_unread_are_dropped(several: Any, holding: str) -> None:
    def split(stream: pyrs.Stream[Any]) -> pyrs.Stream[Any]:
        if several is str:
            return stream.group_by(str)
        return stream.window(100, skip=1) if several == 1 else stream.window(seconds=several)

    source: TestPublisher[int] = TestPublisher()
    reader: TestSubscriber[Any] = TestSubscriber(None)
    with schedulers.use(VirtualTime()) as time:
        HOLDING[holding](split(source.stream())).subscribe(reader)
        source.next(1, 2)
        reader.cancel()
        reader.elements.clear()
        collected(lambda: source.cancel_count and not time.pending)  # whoever collects cancels, then stops the timer
        source.assert_cancelled(1)


def test_who_drops_an_unread_group_runs_nothing_of_upstream() -> None:
    """Whoever drops it, or the collector, may hold any lock: what upstream takes then comes on another thread."""
    lock, went_on = threading.Lock(), threading.Event()
    threads: set[str] = set()
    held: list[Any] = []

    def count(element: int) -> int:
        with lock:
            threads.add(threading.current_thread().name)
        if element == 8:
            went_on.set()
        return element

    pyrs.range(100).map(count).group_by(lambda n: n % 2, prefetch=8).subscribe(on_next=held.append)
    with lock:
        held.clear()
        gc.collect()
    collected(went_on.is_set)
    with lock:
        assert any(name.startswith("pyrs-default") for name in threads - {threading.current_thread().name})


def test_a_group_whose_reader_cancels_before_it_reads_is_left() -> None:
    source: TestPublisher[int] = TestPublisher()
    reader: TestSubscriber[Any] = TestSubscriber(None)

    def cancelling(group: Any) -> Any:
        reader.cancel()
        return group

    source.stream().group_by(str).flat_map(cancelling).subscribe(reader)
    source.next(1)
    source.assert_cancelled(1)


def test_what_somebody_still_has_of_a_part_keeps_it_and_can_be_read(split: Split) -> None:
    source: TestPublisher[int] = TestPublisher()
    parts: TestSubscriber[Any] = TestSubscriber(None)
    split(source.stream()).subscribe(parts)
    source.next(1)
    kept = [parts.elements.pop().map(str).filter(bool)]
    parts.cancel()
    gc.collect()
    source.next(2)
    reader = listen(kept.pop())
    gc.collect()
    source.next(3)
    assert reader.elements == ["1", "2", "3"]
    source.assert_not_cancelled()
    reader.cancel()
    source.assert_cancelled(1)


def test_a_group_that_nobody_can_read_holds_up_none_and_is_not_begun_again() -> None:
    keys = pyrs.range(3000).group_by(lambda n: n % 3, prefetch=4).map(lambda group: group.key)
    assert keys.collect() == [0, 1, 2]
    odd = pyrs.range(1000).group_by(lambda n: n % 2, prefetch=4).filter(lambda group: group.key).flat_map(pyrs.Stream)
    assert odd.collect() == list(range(1, 1000, 2))
    many = pyrs.range(9).group_by(str, max_groups=3).map(lambda group: group.key)
    with pytest.raises(pyrs.errors.BufferOverflow):
        many.collect()


def test_a_window_that_nobody_can_read_drops_its_elements_until_it_is_closed() -> None:
    source: TestPublisher[Any] = TestPublisher()
    live: list[object] = []
    with schedulers.use(VirtualTime()) as time:
        source.stream().window(seconds=1, prefetch=2).map(lambda window: 1).subscribe(on_next=live.append)
        for _ in range(50):
            source.next(Element(lambda: live.append("gone")))
        assert live == [1] + ["gone"] * 50
        time.advance_by(1)
        source.next("x")
        assert live[-1] == 1
        assert live.count(1) == 2
    source.complete()


def test_a_part_that_nobody_can_read_is_let_go_of_by_the_collector_wherever_it_strikes(split: Split) -> None:
    class Cycle:
        def __init__(self, part: object) -> None:
            self.itself = self
            self.part = part

    source: TestPublisher[int] = TestPublisher()
    before = gc.get_threshold()

    def run() -> None:
        parts = split(source.stream()).subscribe(on_next=Cycle)
        source.next(*range(99))
        parts.cancel()
        collected(lambda: source.cancel_count)

    gc.set_threshold(1, 1, 1)
    try:
        finishes(run)
    finally:
        gc.set_threshold(*before)
    source.assert_cancelled(1)
