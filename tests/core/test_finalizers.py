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
from pyrs.testing import TestSubscriber
from tests.core.test_every_operator import CATALOGUE, DEADLINE, every

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
        if number == self.at and self.finalizer is not None:
            self.finalizer()


class Struck:
    """A lock whose holder finds the collector run."""

    def __init__(self, lock: Any, collector: Collector) -> None:
        self.lock = lock
        self.collector = collector

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if not blocking or timeout >= 0:
            taken: bool = self.lock.acquire(blocking, timeout)
            return taken
        if not self.lock.acquire(timeout=1.0):
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
