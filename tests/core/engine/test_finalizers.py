"""A finalizer that cancels or requests, run by the collector while its own thread holds a lock: no deadlock.

The collector runs wherever something is allocated, and a handler of signals wherever a function is called. Here every
lock of the library's stands for that: whoever takes it finds a finalizer run before the next line.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

import pyrs
from pyrs import schedulers, sinks
from pyrs.schedulers import VirtualTime
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.contract.test_every_operator import CATALOGUE, DEADLINE, every
from tests.core.operators.test_splitting import Element, Watching, is_free

PACKAGES = ("pyrs._core", "pyrs.operators", "pyrs.publishers", "pyrs.sinks", "pyrs.aio")
MAKERS = {"Lock": threading.Lock, "RLock": threading.RLock}


class Collector:
    """Runs a finalizer when a lock was taken for the so-manieth time, on the thread that took it."""

    def __init__(self) -> None:
        self.at = -1
        self.taken = 0
        self.finalizer: Callable[[], object] | None = None
        self.stuck: list[str] = []

    def arm(self, at: int, finalizer: Callable[[], object] | None) -> None:
        self.taken, self.at, self.finalizer = 0, at, finalizer

    def strike(self) -> None:
        number, self.taken = self.taken, self.taken + 1
        finalizer = self.finalizer  # looked at once: the test may disarm it while another thread is here
        if number == self.at and finalizer is not None:
            finalizer()


class Struck:
    """A lock whose holder finds the collector run."""

    def __init__(self, lock: Any, collector: Collector) -> None:
        self.lock = lock
        self.collector = collector

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if not blocking or timeout >= 0:
            taken: bool = self.lock.acquire(blocking, timeout)
            return taken
        if not self.lock.acquire(timeout=DEADLINE):
            caller = sys._getframe(2)
            self.collector.stuck.append(f"{caller.f_code.co_filename}:{caller.f_lineno}")
            raise RuntimeError("a deadlock")
        self.collector.strike()
        return True

    def release(self) -> None:
        self.lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *raised: object) -> None:
        self.release()


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    collector = Collector()
    for package in PACKAGES:
        for found in iter_modules(import_module(package).__path__, package + "."):
            module = import_module(found.name)
            for maker, make in MAKERS.items():
                if getattr(module, maker, None) is make:
                    monkeypatch.setattr(module, maker, lambda make=make: Struck(make(), collector))
    yield collector
    collector.arm(-1, None)
    assert collector.stuck == []


@pytest.fixture(autouse=True)
def whatever_is_dropped(dropped: Any) -> Any:
    yield
    dropped.take()


@every
def test_a_finalizer_cancels_or_requests_under_any_lock(name: str, collector: Collector) -> None:
    finalizers: list[Callable[[TestSubscriber[Any]], object]] = [
        lambda subscriber: subscriber.cancel(),
        lambda subscriber: subscriber.request(1),
        lambda subscriber: subscriber.request(0),
    ]
    for finalizer in finalizers:
        for at in range(30):
            subscriber: TestSubscriber[Any] = TestSubscriber(timeout=DEADLINE)
            stream = CATALOGUE[name]()

            def finalize(this: Any = subscriber, finalizer: Any = finalizer) -> None:
                if this.subscription is not None:
                    finalizer(this)

            collector.arm(at, finalize)
            stream.subscribe(subscriber)
            subscriber.await_subscription()
            subscriber.request(2)
            subscriber.request(-1)
            subscriber.cancel()
            taken = collector.taken
            collector.arm(-1, None)
            subscriber.assert_rules()
            if taken <= at:
                break


def test_the_collector_itself_strikes() -> None:
    class Canceller:
        """Is let go of by the collector alone, for it holds itself."""

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

    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
    finally:
        gc.set_threshold(*before)


# What is let go of, and who is called, under no lock.


def kept_by(sink: Any, free: list[bool]) -> Element:
    """An element that notes whether the sink's lock is free when it is let go of."""
    lock = sink._lock
    return Element(lambda: free.append(is_free(lock)))


def test_a_history_lets_go_of_its_elements_under_no_lock() -> None:
    free: list[bool] = []
    sink = sinks.replay(1)
    sink.emit(kept_by(sink, free))
    sink.emit(1)
    assert free == [True]
    time = VirtualTime()
    sink = sinks.replay(seconds=1.0, scheduler=time)
    sink.emit(kept_by(sink, free))
    sink.emit(1)
    time.advance_by(2.0)
    sink.stream.subscribe(TestSubscriber(0))
    assert free == [True, True]


def test_what_one_alone_held_is_let_go_of_under_no_lock() -> None:
    free: list[bool] = []
    sink = sinks.replay(1)
    slow: TestSubscriber[Any] = TestSubscriber(0)
    sink.stream.subscribe(slow)
    sink.emit(kept_by(sink, free))
    sink.emit(1)
    assert free == []
    slow.cancel()
    assert free == [True]


def test_what_has_to_make_room_is_let_go_of_under_no_lock(dropped: Any) -> None:
    free: list[bool] = []
    sink = sinks.unicast(1, "drop_oldest")
    sink.emit(kept_by(sink, free))
    sink.emit(1)
    assert free == [True]
    assert (dropped.elements, sink.dropped) == (1, 1)


def test_a_shared_stream_calls_its_scheduler_under_no_lock() -> None:
    scheduler = Watching()
    source: TestPublisher[int] = TestPublisher()
    shared: Any = source.stream().publish().ref_count(1, seconds=1.0, scheduler=scheduler)
    scheduler.lock = shared.source._lock

    def visit() -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        shared.subscribe(subscriber)
        subscriber.cancel()

    visit()
    scheduler.time.advance_by(0.6)
    visit()  # in time: one timer is cancelled, and another one armed
    assert scheduler.free == [True, True, True]
    scheduler.time.advance_by(0.6)
    source.assert_not_cancelled()
    scheduler.time.advance_by(0.6)
    source.assert_cancelled(1)
    assert scheduler.time.pending == 0


def test_somebody_comes_and_goes_while_the_timer_of_a_shared_stream_is_being_set() -> None:
    source: TestPublisher[int] = TestPublisher()
    visits = 2

    class Visited(Watching):
        def schedule(self, task: Callable[[], object], delay: float = 0.0) -> Any:
            nonlocal visits
            handle = super().schedule(task, delay)
            visits -= 1
            if visits:
                visit()
                self.time.advance_by(0.5)
            return handle

    scheduler = Visited()
    shared: Any = source.stream().publish().ref_count(1, seconds=1.0, scheduler=scheduler)

    def visit() -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        shared.subscribe(subscriber)
        subscriber.cancel()

    visit()
    assert scheduler.time.pending == 1
    source.assert_not_cancelled()
    scheduler.time.advance_by(0.5)
    source.assert_cancelled(1)


# A finalizer between two lines that change the same thing.


class Striking(tuple[Any, ...]):
    """Runs a finalizer when it is first looked through."""

    finalizer: Callable[[], object] | None = None

    def __iter__(self) -> Iterator[Any]:
        finalizer, Striking.finalizer = Striking.finalizer, None
        if finalizer is not None:
            finalizer()
        return super().__iter__()


@pytest.mark.parametrize("make", [sinks.multicast, sinks.multicast_best_effort, sinks.replay])
def test_subscribers_that_a_finalizer_cancels_while_others_come_and_go(make: Any) -> None:
    sink = make()
    first, second, third, fourth, fifth = (TestSubscriber[Any](9) for _ in range(5))
    for subscriber in (first, second, third):
        sink.stream.subscribe(subscriber)
    sink._taps = Striking(sink._taps)
    Striking.finalizer = first.cancel
    sink.stream.subscribe(fourth)
    assert sink.subscriber_count == 3
    sink._taps = Striking(sink._taps)
    Striking.finalizer = second.cancel
    third.cancel()
    assert sink.subscriber_count == 1
    sink._taps = Striking(sink._taps)
    Striking.finalizer = fifth.cancel
    sink.stream.subscribe(fifth)
    assert sink.subscriber_count == 1
    sink.emit(1)
    assert [each.elements for each in (first, second, third, fourth, fifth)] == [[], [], [], [1], []]


def test_subscribers_of_a_submission_publisher_that_a_finalizer_cancels() -> None:
    publisher = sinks.SubmissionPublisher[int](schedulers.inline())
    first, second, third, fourth = (TestSubscriber[int](9) for _ in range(4))
    for subscriber in (first, second, third):
        publisher.subscribe(subscriber)
    core = publisher._core

    def next_strike(finalizer: Callable[[], object]) -> None:
        # The first look is for whoever subscribes twice.
        core.lines = Striking(core.lines)
        Striking.finalizer = finalizer

    next_strike(first.cancel)
    second.cancel()
    assert publisher.number_of_subscribers == 1
    next_strike(lambda: next_strike(third.cancel))
    publisher.subscribe(fourth)
    assert publisher.subscribers == (fourth,)
    publisher.close()


def test_a_finalizer_that_has_more_requested_while_room_is_counted() -> None:
    source: TestPublisher[int] = TestPublisher()
    shared: Any = source.stream().publish(4)
    subscriber: TestSubscriber[int] = TestSubscriber(0)
    shared.subscribe(subscriber)
    shared.connect()
    source.next(1, 2, 3, 4)
    feed: Any = shared.source._current.hub.feed
    count, strikes = feed._hub.backlog, 1

    def backlog() -> int:
        nonlocal strikes
        held: int = count()
        if strikes and not held and feed._guard._is_owned():
            strikes -= 1
            feed.refill()
        return held

    feed._hub.backlog = backlog
    subscriber.request(4)
    subscriber.assert_elements(1, 2, 3, 4)
    source.assert_min_requested(8).assert_max_requested(8)
