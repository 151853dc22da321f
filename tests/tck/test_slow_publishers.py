"""A correct Publisher that is slow passes: the tests with many elements request fewer from it."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest

from pyrs.tck import (
    PublisherVerification,
    Status,
    TestEnvironment,
    beyond_publisher,
    beyond_subscription,
    judge,
    races,
)
from tests.tck.families import CANCEL_INSIDE, FLAT, LARGE
from tests.tck.right import RightPublisher, RightSubscription, ThreadedSubscription

MANY_THREADS = "beyond_spec103_mustSignalSeriallyWhenManyThreadsRequest"


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

    class Verification(PublisherVerification[Any]):
        environment = TestEnvironment(timeout=1, no_signals_timeout=0.02, hook_timeout=1.5, deadline=4)

        def create_publisher(self, elements: int) -> Any:
            return type("Publisher", (RightPublisher,), {"subscription": subscription})(elements)

    verdict = judge(Verification, test)
    assert (verdict.status, verdict.reason) == (Status.PASSED, "")
