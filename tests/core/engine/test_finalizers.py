"""A finalizer that cancels or requests while its thread holds a lock causes no deadlock.

The garbage collector may run at any allocation, and a signal handler at any call. The fixture ``collector`` replaces
the locks of streams, sinks and timers with locks that run a finalizer right after they are acquired.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import count
from pkgutil import iter_modules
from typing import Any

import pytest

import pyrs
from pyrs import schedulers, sinks
from pyrs._core.inputs import Input
from pyrs.schedulers import VirtualTime
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.contract.test_every_operator import CATALOGUE, every
from tests.core.locking import Element, LockCheckingScheduler, is_free
from tests.core.support import frequent_collections, run_with_deadline
from tests.lines import AtLine
from tests.waiting import DEADLINE, uncollected

PACKAGES = ("pyrs._core", "pyrs.operators", "pyrs.publishers", "pyrs.sinks", "pyrs.schedulers", "pyrs.aio")
MAKERS = {"Lock": threading.Lock, "RLock": threading.RLock}


class Collector:
    """Run a finalizer at the nth acquisition of a lock, on the thread that acquired it."""

    def __init__(self) -> None:
        self.at = -1
        self.acquired = 0
        self.finalizer: Callable[[], object] | None = None
        self.deadlocks: list[str] = []
        self.nested: set[str] = set()  # the calls that acquired a lock while their thread held another one
        self.held = threading.local()

    def arm(self, position: int, finalizer: Callable[[], object] | None) -> None:
        self.acquired, self.at, self.finalizer = 0, position, finalizer

    def lock_acquired(self) -> None:
        number, self.acquired = self.acquired, self.acquired + 1
        finalizer = self.finalizer  # read once: the test may reset it while another thread runs this method
        if number == self.at and finalizer is not None:
            finalizer()


class FinalizingLock:
    """A lock that runs the armed finalizer after it is acquired."""

    def __init__(self, lock: Any, collector: Collector) -> None:
        self.lock = lock
        self.collector = collector

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if not blocking or timeout >= 0:
            acquired: bool = self.lock.acquire(blocking, timeout)
            return acquired
        if not self.lock.acquire(timeout=DEADLINE):
            caller = sys._getframe(2)
            self.collector.deadlocks.append(f"{caller.f_code.co_filename}:{caller.f_lineno}")
            raise RuntimeError("a deadlock")
        held = vars(self.collector.held).setdefault("locks", [])
        if any(other is not self for other in held):
            caller = sys._getframe(2)
            self.collector.nested.add(f"{caller.f_code.co_filename}:{caller.f_lineno}")
        held.append(self)
        self.collector.lock_acquired()
        return True

    def release(self) -> None:
        held = vars(self.collector.held).get("locks", [])
        if self in held:
            held.remove(self)
        self.lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *raised: object) -> None:
        self.release()


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    collector = Collector()
    for package in PACKAGES:
        replaced = False
        for found in iter_modules(import_module(package).__path__, package + "."):
            module = import_module(found.name)
            for maker, make in MAKERS.items():
                if getattr(module, maker, None) is make:
                    monkeypatch.setattr(module, maker, lambda make=make: FinalizingLock(make(), collector))
                    replaced = True
        assert replaced, f"{package} imports no lock by name, so no test would run a finalizer under its locks"
    yield collector
    collector.arm(-1, None)
    assert collector.deadlocks == []


@pytest.fixture(autouse=True)
def ignore_dropped_errors(dropped: Any) -> Any:
    yield
    dropped.take()


def test_finalizer_at_any_line_of_on_subscribe_can_cancel() -> None:
    for line in count(1):
        source, subscriber = TestPublisher[int](), TestSubscriber[int](None)
        with AtLine((Input.on_subscribe,), line, subscriber.cancel) as place:
            source.stream().limit_rate(2).subscribe(subscriber)
        if not place.reached:
            break
        source.assert_cancelled()
    assert line > 8


@every
def test_finalizer_under_any_lock_can_cancel_and_request(name: str, collector: Collector) -> None:
    finalizers: list[Callable[[TestSubscriber[Any]], object]] = [
        lambda subscriber: subscriber.cancel(),
        lambda subscriber: subscriber.request(1),
        lambda subscriber: subscriber.request(0),
    ]
    for finalizer in finalizers:
        for position in range(30):
            subscriber: TestSubscriber[Any] = TestSubscriber(timeout=DEADLINE)
            stream = CATALOGUE[name]()

            def finalize(this: Any = subscriber, finalizer: Any = finalizer) -> None:
                if this.subscription is not None:
                    finalizer(this)

            collector.arm(position, finalize)
            stream.subscribe(subscriber)
            subscriber.await_subscription()
            subscriber.request(2)
            subscriber.request(-1)
            subscriber.cancel()
            acquired = collector.acquired
            collector.arm(-1, None)
            subscriber.assert_rules()
            if acquired <= position:
                break


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.collect()
    with uncollected():
        yield


@every
def test_no_thread_waits_for_a_lock_while_it_holds_another(
    name: str, collector: Collector, no_collection: None
) -> None:
    # Otherwise two threads could wait for each other: this one, and a thread that holds the other lock while its
    # finalizer waits for the first.
    for _ in range(2):
        subscriber: TestSubscriber[Any] = TestSubscriber(timeout=DEADLINE)
        CATALOGUE[name]().subscribe(subscriber)
        subscriber.await_subscription()
        subscriber.request(5)
        subscriber.cancel()
    assert collector.nested == set()


def test_no_thread_holds_two_locks_when_it_moves_a_timer(collector: Collector, no_collection: None) -> None:
    time = VirtualTime()
    source: TestPublisher[int] = TestPublisher()
    windows: TestSubscriber[Any] = TestSubscriber(1)
    source.stream().window(2, seconds=1, scheduler=time).subscribe(windows)
    source.next(1)
    time.advance_by(1)
    windows.request(2)  # closes the window whose time has passed
    source.next(2)
    source.next(3)  # closes the window, because it is full

    shared: Any = TestPublisher[int]().stream().publish().ref_count(1, seconds=1, scheduler=time)
    subscriber: TestSubscriber[int] = TestSubscriber()
    shared.subscribe(subscriber)
    schedule = time.schedule

    def subscribed_in_time(*arguments: Any) -> Any:
        shared.subscribe(TestSubscriber())
        return schedule(*arguments)

    time.schedule = subscribed_in_time  # type: ignore[method-assign]
    subscriber.cancel()
    assert collector.nested == set()


def test_garbage_collector_can_cancel_and_request_at_any_allocation() -> None:
    class Canceller:
        """References itself, so that only the garbage collector can free it."""

        def __init__(self, subscription: pyrs.Subscription) -> None:
            self.itself = self
            self.subscription = subscription

        def __del__(self) -> None:
            self.subscription.request(0)
            self.subscription.cancel()

    def run() -> None:
        for name in (".map", ".scan", ".take_last", ".flat_map", ".concat_map", ".concat", ".metrics", "pyrs.create"):
            for _ in range(20):
                subscriber: TestSubscriber[Any] = TestSubscriber(timeout=DEADLINE)
                CATALOGUE[name]().subscribe(subscriber)
                Canceller(subscriber.await_subscription())
                subscriber.request(1)
                subscriber.request(0)

    with frequent_collections():
        run_with_deadline(run)


# Elements are released, and schedulers called, with no lock held.


def element_for(sink: Any, free: list[bool]) -> Element:
    """Return an element that records, when it is released, whether the sink's lock is free."""
    lock = sink._lock
    return Element(lambda: free.append(is_free(lock)))


def test_replay_history_releases_elements_with_no_lock_held() -> None:
    free: list[bool] = []
    sink = sinks.replay(1)
    sink.emit(element_for(sink, free))
    sink.emit(1)
    assert free == [True]
    time = VirtualTime()
    sink = sinks.replay(seconds=1.0, scheduler=time)
    sink.emit(element_for(sink, free))
    sink.emit(1)
    time.advance_by(2.0)
    sink.stream.subscribe(TestSubscriber(0))
    assert free == [True, True]


def test_cancel_releases_buffered_elements_with_no_lock_held() -> None:
    free: list[bool] = []
    sink = sinks.replay(1)
    slow: TestSubscriber[Any] = TestSubscriber(0)
    sink.stream.subscribe(slow)
    sink.emit(element_for(sink, free))
    sink.emit(1)
    assert free == []
    slow.cancel()
    assert free == [True]


def test_drop_oldest_releases_elements_with_no_lock_held(dropped: Any) -> None:
    free: list[bool] = []
    sink = sinks.unicast(1, "drop_oldest")
    sink.emit(element_for(sink, free))
    sink.emit(1)
    assert free == [True]
    assert (dropped.elements, sink.dropped) == (1, 1)


def test_ref_count_calls_its_scheduler_with_no_lock_held() -> None:
    scheduler = LockCheckingScheduler()
    source: TestPublisher[int] = TestPublisher()
    shared: Any = source.stream().publish().ref_count(1, seconds=1.0, scheduler=scheduler)
    scheduler.lock = shared.source._lock

    def subscribe_and_cancel() -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        shared.subscribe(subscriber)
        subscriber.cancel()

    subscribe_and_cancel()
    scheduler.time.advance_by(0.6)
    subscribe_and_cancel()  # within the grace period: the timer is cancelled and a new one armed
    assert scheduler.free == [True, True, True]
    scheduler.time.advance_by(0.6)
    source.assert_not_cancelled()
    scheduler.time.advance_by(0.6)
    source.assert_cancelled(1)
    assert scheduler.time.pending == 0


def test_ref_count_accepts_a_subscriber_while_its_timer_is_being_armed() -> None:
    source: TestPublisher[int] = TestPublisher()
    remaining = 2

    class ReentrantScheduler(LockCheckingScheduler):
        def schedule(self, task: Callable[[], object], delay: float = 0.0) -> Any:
            nonlocal remaining
            handle = super().schedule(task, delay)
            remaining -= 1
            if remaining:
                subscribe_and_cancel()
                self.time.advance_by(0.5)
            return handle

    scheduler = ReentrantScheduler()
    shared: Any = source.stream().publish().ref_count(1, seconds=1.0, scheduler=scheduler)

    def subscribe_and_cancel() -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        shared.subscribe(subscriber)
        subscriber.cancel()

    subscribe_and_cancel()
    assert scheduler.time.pending == 1
    source.assert_not_cancelled()
    scheduler.time.advance_by(0.5)
    source.assert_cancelled(1)


# A finalizer may run between two lines that update the same state.


class FinalizingTuple(tuple[Any, ...]):
    """Run a finalizer at the first iteration or search."""

    finalizer: Callable[[], object] | None = None

    def __iter__(self) -> Iterator[Any]:
        self.finalize()
        return super().__iter__()

    def index(self, *arguments: Any) -> int:
        self.finalize()
        return super().index(*arguments)

    @staticmethod
    def finalize() -> None:
        finalizer, FinalizingTuple.finalizer = FinalizingTuple.finalizer, None
        if finalizer is not None:
            finalizer()


@pytest.mark.parametrize("make", [sinks.multicast, sinks.multicast_best_effort, sinks.replay])
def test_finalizer_can_cancel_subscribers_while_a_sink_updates_them(make: Any) -> None:
    sink = make()
    first, second, third, fourth, fifth = (TestSubscriber[Any](9) for _ in range(5))
    for subscriber in (first, second, third):
        sink.stream.subscribe(subscriber)
    sink._subscriptions = FinalizingTuple(sink._subscriptions)
    FinalizingTuple.finalizer = first.cancel
    sink.stream.subscribe(fourth)
    assert sink.subscriber_count == 3
    sink._subscriptions = FinalizingTuple(sink._subscriptions)
    FinalizingTuple.finalizer = second.cancel
    third.cancel()
    assert sink.subscriber_count == 1
    sink._subscriptions = FinalizingTuple(sink._subscriptions)
    FinalizingTuple.finalizer = fifth.cancel
    sink.stream.subscribe(fifth)
    assert sink.subscriber_count == 1
    sink.emit(1)
    assert [each.elements for each in (first, second, third, fourth, fifth)] == [[], [], [], [1], []]


def test_finalizer_can_cancel_subscribers_while_a_submission_publisher_updates_them() -> None:
    publisher = sinks.SubmissionPublisher[int](schedulers.inline())
    first, second, third, fourth = (TestSubscriber[int](9) for _ in range(4))
    for subscriber in (first, second, third):
        publisher.subscribe(subscriber)
    core = publisher._core

    def finalize_at_next_iteration(finalizer: Callable[[], object]) -> None:
        core.subscriptions = FinalizingTuple(core.subscriptions)
        FinalizingTuple.finalizer = finalizer

    finalize_at_next_iteration(first.cancel)
    second.cancel()
    assert publisher.number_of_subscribers == 1
    # The first iteration of subscribe() looks for a duplicate subscription, the second one adds the new subscription.
    finalize_at_next_iteration(lambda: finalize_at_next_iteration(third.cancel))
    publisher.subscribe(fourth)
    assert publisher.subscribers == (fourth,)
    publisher.close()


def test_finalizer_that_refills_during_a_capacity_check_does_not_request_twice() -> None:
    source: TestPublisher[int] = TestPublisher()
    shared: Any = source.stream().publish(4)
    subscriber: TestSubscriber[int] = TestSubscriber(0)
    shared.subscribe(subscriber)
    shared.connect()
    source.next(1, 2, 3, 4)
    feed: Any = shared.source._current.hub.feed
    count, remaining = feed._hub._buffered, 1

    def backlog() -> int:
        nonlocal remaining
        backlog_size: int = count()
        if remaining and not backlog_size and feed._guard._is_owned():
            remaining -= 1
            feed.refill()
        return backlog_size

    feed._hub._buffered = backlog
    subscriber.request(4)
    subscriber.assert_elements(1, 2, 3, 4)
    source.assert_min_requested(8).assert_max_requested(8)
