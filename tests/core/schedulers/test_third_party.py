"""A third-party scheduler that rejects a task with any error fails the stream, and discards no delivered element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from pyrs import schedulers
from pyrs.sinks import SubmissionPublisher
from pyrs.testing import TestPublisher, TestSubscriber


class Rejecting(schedulers.Scheduler):
    """Collects the first ``accepts`` tasks, which the test runs, and rejects the others with ``error``.

    An executor of ``concurrent.futures`` raises RuntimeError after its shutdown.
    """

    def __init__(self, accepts: int, error: Exception) -> None:
        self.accepts = accepts
        self.error = error
        self.time = 0.0
        self.tasks: list[Callable[[], object]] = []

    def now(self) -> float:
        return self.time

    def schedule(self, task: Callable[[], object], delay: float = 0.0) -> Any:
        if not self.accepts:
            raise self.error
        self.accepts -= 1
        self.tasks.append(task)
        return schedulers.VirtualTime().schedule(task)  # has a cancel method

    def run(self, seconds: float = 0.0) -> None:
        self.time += seconds
        while self.tasks:
            self.tasks.pop(0)()

    def close(self, timeout: float = 5.0) -> bool:
        return True


ERRORS = [RuntimeError("cannot schedule new futures after shutdown"), OSError("no thread"), ValueError("rejected")]

CALLS: dict[str, Callable[[pyrs.Stream[Any], Rejecting], pyrs.Stream[Any]]] = {
    "publish_on": lambda stream, scheduler: stream.publish_on(scheduler),
    "subscribe_on": lambda stream, scheduler: stream.subscribe_on(scheduler),
    "debounce": lambda stream, scheduler: stream.debounce(1, scheduler=scheduler),
    "sample": lambda stream, scheduler: stream.sample(1, scheduler=scheduler),
    "delay": lambda stream, scheduler: stream.delay(1, scheduler=scheduler),
    "timeout": lambda stream, scheduler: stream.timeout(1, scheduler=scheduler),
    "window": lambda stream, scheduler: stream.window(2, seconds=1, scheduler=scheduler).flat_map(lambda each: each),
    "buffer": lambda stream, scheduler: stream.buffer(2, seconds=1, scheduler=scheduler),
}


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("name", CALLS)
def test_rejected_task_fails_the_stream(name: str, error: Exception) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(10)
    CALLS[name](pyrs.just(1).concat(pyrs.never()), Rejecting(0, error)).subscribe(subscriber)
    assert subscriber.await_error() is error


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_rejected_task_of_the_second_time_limit_fails_the_stream(error: Exception) -> None:
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber(10)
    source.stream().timeout(1, first=9, scheduler=Rejecting(1, error)).subscribe(subscriber)
    source.next(1)
    assert subscriber.await_error() is error
    assert subscriber.elements == [1]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_rejected_task_of_a_moved_deadline_fails_the_stream(error: Exception) -> None:
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber(10)
    scheduler = Rejecting(1, error)
    source.stream().debounce(2, scheduler=scheduler).subscribe(subscriber)
    source.next(1)
    scheduler.time = 1.0
    source.next(2)
    scheduler.run(1.0)  # the deadline has moved, so the task schedules itself again
    assert subscriber.await_error() is error


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_rejected_task_of_ref_count_disconnects_in_cancel(error: Exception) -> None:
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber(10)
    source.stream().publish().ref_count(1, 1, scheduler=Rejecting(0, error)).subscribe(subscriber)
    subscriber.cancel()  # §3.15: returns normally
    source.assert_cancelled(1)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_rejected_task_of_a_submission_publisher_fails_the_subscriber(error: Exception) -> None:
    subscriber: TestSubscriber[int] = TestSubscriber(10)
    SubmissionPublisher[int](Rejecting(0, error)).subscribe(subscriber)
    assert subscriber.await_error() is error


def test_element_of_a_window_is_not_discarded_when_the_timer_is_rejected() -> None:
    source: TestPublisher[int] = TestPublisher()
    discarded: list[int] = []
    subscriber: TestSubscriber[int] = TestSubscriber(10)
    CALLS["window"](source.stream(), Rejecting(0, ERRORS[0])).do_on_discard(discarded.append).subscribe(subscriber)
    source.next(1)
    assert subscriber.await_error() is ERRORS[0]
    assert subscriber.elements == [1]
    assert discarded == []


class _HandleRaises:
    def cancel(self) -> None:
        raise OSError("no connection to the timer")


class Keeping(schedulers.Scheduler):
    """Runs no task, and its handles raise an error when they are cancelled."""

    def now(self) -> float:
        return 0.0

    def schedule(self, task: Callable[[], object], delay: float = 0.0) -> Any:
        return _HandleRaises()

    def close(self, timeout: float = 5.0) -> bool:
        return True


@pytest.mark.parametrize("signal", ["cancel", "complete", "error"])
@pytest.mark.parametrize("name", ["debounce", "sample", "timeout", "throttle_latest", "window", "buffer"])
def test_an_error_of_the_handle_loses_neither_the_terminal_signal_nor_the_cancel(
    name: str, signal: str, dropped: Any
) -> None:
    publisher: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    call: Any = CALLS.get(name, lambda stream, scheduler: stream.throttle_latest(1, scheduler=scheduler))
    call(publisher.stream(), Keeping()).subscribe(subscriber)
    publisher.next(1)
    if signal == "cancel":
        subscriber.cancel()  # 3.15
        publisher.assert_cancelled(1)
    elif signal == "complete":
        publisher.complete()
        subscriber.assert_complete()
    else:
        publisher.error(ValueError("down"))
        subscriber.assert_error(ValueError)
    assert {str(error) for error in dropped.take()} == {"no connection to the timer"}
