"""The asynchronous Publisher that feeds Subscribers under test."""

from __future__ import annotations

from threading import Event, Thread, current_thread
from typing import Any

from pyrs.api import Subscriber, Subscription
from pyrs.tck import TestEnvironment
from pyrs.tck.helper import HelperPublisher


class RequestsInvalidNumbers(Subscriber[Any]):
    def __init__(self) -> None:
        self.subscribed = Event()
        self.thread: Thread | None = None
        self.signals: list[str] = []

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.thread = current_thread()
        subscription.request(0)
        subscription.request(-1)
        self.subscribed.set()

    def on_next(self, element: Any, /) -> None:
        self.signals.append(f"on_next({element})")

    def on_error(self, error: BaseException, /) -> None:
        self.signals.append(f"on_error({error})")

    def on_complete(self) -> None:
        self.signals.append("on_complete")


def test_two_invalid_requests_cause_one_error() -> None:
    """After on_error there are no further signals (§1.7, §3.9)."""
    env = TestEnvironment().fresh()
    subscriber = RequestsInvalidNumbers()
    HelperPublisher(env, int, 3).subscribe(subscriber)
    assert subscriber.subscribed.wait(30)
    assert subscriber.thread is not None
    subscriber.thread.join(30)
    assert subscriber.signals == ["on_error(request(0) (rule 3.9))"]
    env.verify_no_async_errors_no_delay()
