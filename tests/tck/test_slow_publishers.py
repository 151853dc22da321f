"""A correct Publisher that is slow passes: the tests with many elements request fewer from it."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest

from pyrs.tck import (
    PublisherVerification,
    Status,
    TestEnvironment,
    Verdict,
    beyond_publisher,
    beyond_subscription,
    judge,
    races,
)
from tests.tck.families import AFTER_ERROR, CANCEL_INSIDE, FLAT, LARGE
from tests.tck.right import RightPublisher, RightSubscription, ThreadedSubscription
from tests.tck.unusual import OneRequestAfterAnother

MANY_THREADS = "beyond_spec103_mustSignalSeriallyWhenManyThreadsRequest"


def verdict_on(test: str, subscription: Any, **environment: float) -> Verdict:
    """Judge a ``RightPublisher`` with another class of Subscriptions."""

    class Publisher(RightPublisher):
        pass

    class Verification(PublisherVerification[Any]):
        def create_publisher(self, elements: int) -> Any:
            return Publisher(elements)

    Publisher.subscription = subscription
    Verification.environment = TestEnvironment(**environment)
    return judge(Verification, test)


class Slow(RightSubscription):
    """Takes 50 ms for an element."""

    def emit(self, subscriber: Any) -> None:
        if self.demand:
            Event().wait(0.05)
        super().emit(subscriber)


class SlowOnAThread(Slow, ThreadedSubscription):
    """Takes 50 ms for an element on its own thread."""


@pytest.mark.parametrize("subscription", [Slow, SlowOnAThread])
@pytest.mark.parametrize("test", [LARGE, CANCEL_INSIDE, FLAT, MANY_THREADS])
def test_a_slow_publisher_is_within_the_deadline(test: str, subscription: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred elements take longer than the deadline, and so do a thousand inside ``subscribe``."""
    monkeypatch.setattr(beyond_publisher, "_SECONDS_OF_A_LARGE_DEMAND", 0.2)
    monkeypatch.setattr(beyond_publisher, "_SECONDS_BEFORE_CANCEL", 0.2)
    monkeypatch.setattr(beyond_subscription, "_SECONDS_OF_A_LONG_RUN", 2.0)
    monkeypatch.setattr(races, "_SECONDS", 0.2)
    verdict = verdict_on(test, subscription, timeout=1, no_signals_timeout=0.02, hook_timeout=1.5, deadline=4)
    assert (verdict.status, verdict.reason) == (Status.PASSED, "")


class StopsAfterNine(SlowOnAThread):
    """Emits up to nine elements after a cancel: the signals must stop eventually (§1.8, §3.12)."""

    left: int | None = None

    def cancel(self) -> None:
        if self.demand and 0 < self.sent < self.elements and not self.illegal:
            self.left = 9
        else:
            super().cancel()

    def emit(self, subscriber: Any) -> None:
        if self.left == 0:
            super().cancel()
            return
        if self.left is not None:
            self.left -= 1
        super().emit(subscriber)


class IgnoresCancel(ThreadedSubscription):
    """Emits an element every 150 ms, also after a cancel."""

    def cancel(self) -> None:
        if self.illegal or self.sent in (0, self.elements):
            super().cancel()

    def emit(self, subscriber: Any) -> None:
        if self.demand and self.sent < self.elements:
            Event().wait(0.15)
        super().emit(subscriber)


@pytest.mark.parametrize(("subscription", "status"), [(StopsAfterNine, Status.PASSED), (IgnoresCancel, Status.FAILED)])
def test_elements_of_a_slow_publisher_must_stop_eventually_after_a_cancel(subscription: Any, status: Status) -> None:
    verdict = verdict_on("beyond_spec107_mustStaySilentForLong", subscription, timeout=0.4, no_signals_timeout=0.05)
    assert verdict.status is status, verdict.reason
    assert ("(rule 1.8)" in verdict.reason) is (status is Status.FAILED)


def test_a_request_is_read_after_a_slow_publisher_has_fulfilled_the_previous_one() -> None:
    """The stream may complete before the Publisher reads ``request(0)``, so ``on_error`` is not required."""

    class Slowly(OneRequestAfterAnother.subscription):
        def emit(self, subscriber: Any) -> None:
            Event().wait(0.002)
            super().emit(subscriber)

    verdict = verdict_on(AFTER_ERROR, Slowly, timeout=1, no_signals_timeout=0.02, deadline=4)
    assert (verdict.status, verdict.reason) == (Status.PASSED, "")


class OneThousandPerRequest(RightSubscription):
    """Fulfils at most 1,000 elements of a request; the first element takes 100 ms."""

    def request(self, n: int, /) -> None:
        super().request(min(n, 1_000))

    def emit(self, subscriber: Any) -> None:
        if self.sent == 0 and self.demand:
            Event().wait(0.1)
        super().emit(subscriber)


def test_a_large_demand_is_tested_although_the_first_element_takes_long() -> None:
    verdict = verdict_on(LARGE, OneThousandPerRequest, timeout=1, no_signals_timeout=0.02)
    assert verdict.reason.startswith("1500 elements were requested, but 1000 arrived (rule 1.2)")
