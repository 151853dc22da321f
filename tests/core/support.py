"""Helpers that several tests of the core share."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyrs
from pyrs import schedulers
from pyrs.testing import TestSubscriber
from tests.waiting import DEADLINE

__all__ = [
    "CancellingSubscriber",
    "RecordingSubscription",
    "RunningTime",
    "error_of",
    "frequent_collections",
    "frequent_thread_switches",
    "notes_of",
    "run_with_deadline",
    "stack_depth",
    "subscribe",
]


class RecordingSubscription(pyrs.Subscription):
    """Record the calls of request and cancel, and pass each n to ``on_request``."""

    def __init__(self, on_request: Callable[[int], object] | None = None) -> None:
        self.requested: list[int] = []
        self.cancelled = 0
        self.on_request = on_request

    def request(self, n: int, /) -> None:
        self.requested.append(n)
        if self.on_request is not None:
            self.on_request(n)

    def cancel(self) -> None:
        self.cancelled += 1


class RunningTime(schedulers.VirtualTime):
    """Time that also passes during a task."""

    ahead = 0.0  # the seconds that have passed during the task

    def now(self) -> float:
        return super().now() + self.ahead


class CancellingSubscriber(TestSubscriber[Any]):
    """Cancel in ``on_subscribe``."""

    def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
        super().on_subscribe(subscription)
        subscription.cancel()


def subscribe(publisher: pyrs.Publisher[Any], request: int | None = None) -> TestSubscriber[Any]:
    """Subscribe a TestSubscriber that requests ``request`` elements, or all if it is None."""
    subscriber: TestSubscriber[Any] = TestSubscriber(request)
    publisher.subscribe(subscriber)
    return subscriber


def error_of(publisher: pyrs.Publisher[Any]) -> BaseException:
    """Request all elements, and return the error of the stream."""
    return subscribe(publisher).await_error()


def notes_of(error: BaseException) -> list[str]:
    """Return the notes of the error, also on Python 3.10."""
    return list(getattr(error, "__notes__", ()))


def stack_depth() -> int:
    """Return the number of frames below the caller."""
    depth, frame = 0, sys._getframe(1)
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    return depth


@contextmanager
def frequent_collections(threshold: int = 1) -> Iterator[None]:
    """Run the garbage collector after every few allocations."""
    before = gc.get_threshold()
    gc.set_threshold(threshold, threshold, threshold)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def frequent_thread_switches() -> Iterator[None]:
    """Let the interpreter switch threads every microsecond."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def run_with_deadline(action: Callable[[], object]) -> None:
    """Run the action on a thread, and fail if it raises or does not return in time."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            action()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(2 * DEADLINE)  # the action may itself wait up to DEADLINE
    assert not thread.is_alive()
    assert raised == []
