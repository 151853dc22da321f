"""No test fails for an unusual implementation that conforms; all are judged at the same time."""

from __future__ import annotations

import sys
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from pyrs.tck import Status, TestEnvironment, Verdict, beyond_subscription, interleaving, publisher_tests, races
from pyrs.tck.expected import Kind
from pyrs.tck.verifications import (
    PublisherVerification,
    SubscriberBlackboxVerification,
    SubscriberWhiteboxVerification,
)
from tests.tck import judging
from tests.tck.families import FLAT
from tests.tck.judging import Case, judge_blackbox, judge_publisher, judge_whitebox
from tests.tck.unusual import BLACKBOX, PUBLISHERS, WHITEBOX, CompletesAfterACancel

# A timeout expires only for the missing element of Unicast and the missing request of CancelsAfterThree.
OVERLAPPING = TestEnvironment(timeout=8, no_signals_timeout=0.05, reference_timeout=20, hook_timeout=30, deadline=60)
AT_A_TIME = 16
KINDS: tuple[tuple[list[Any], Any, Any], ...] = (
    (PUBLISHERS, PublisherVerification, judge_publisher),
    (WHITEBOX, SubscriberWhiteboxVerification, judge_whitebox),
    (BLACKBOX, SubscriberBlackboxVerification, judge_blackbox),
)
ALL = [each for implementations, _, _ in KINDS for each in implementations]


@pytest.fixture(scope="module")
def verdicts() -> dict[str, list[Future[Verdict]]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judging, "SHORT", OVERLAPPING)
        patch.setattr(beyond_subscription, "_LONG_RUN", 2_000)
        patch.setattr(interleaving, "_MAX_LINES", 5)
        patch.setattr(races, "_ROUNDS", 10)
        patch.setattr(
            races, "_SWITCH_INTERVAL", sys.getswitchinterval()
        )  # the short interval would slow down the other tests
        patch.setattr(publisher_tests, "_ITERATIONS", 10)
        with ThreadPoolExecutor(AT_A_TIME, "judging") as pool:
            return {
                each.__name__: [
                    pool.submit(judge, Case(name, each, ""))
                    for name in verification.test_names()
                    if verification.expected.get(name) is not Kind.UNTESTED
                ]
                for implementations, verification, judge in KINDS
                for each in implementations
            }


@pytest.mark.parametrize("implementation", ALL, ids=lambda each: each.__name__)
def test_an_unusual_implementation_does_not_fail(
    implementation: Any, verdicts: dict[str, list[Future[Verdict]]]
) -> None:
    found = [future.result() for future in verdicts[implementation.__name__]]
    assert [(each.name, each.reason) for each in found if each.status is Status.FAILED] == []
    assert sum(each.status is Status.PASSED for each in found) >= len(found) - 10


@pytest.mark.parametrize(
    "test",
    [
        "required_spec302_mustAllowSynchronousRequestCallsFromOnNextAndOnSubscribe",
        "required_spec317_mustNotSignalOnErrorWhenPendingAboveLongMaxValue",
    ],
)
def test_an_element_after_the_test_cancels_and_does_not_raise(test: str) -> None:
    """A hot Publisher emits to the Subscribers of all tests on one thread, which an exception would end."""
    hot = _Hot()
    assert judge_publisher(Case(test, lambda elements: hot, "")).status is Status.PASSED
    hot.cancels = 0
    assert hot.subscriber is not None
    hot.subscriber.on_next(1)
    assert hot.cancels == 1


def test_a_publisher_that_completes_after_a_cancel_is_not_judged_at_its_last_element(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The test cancels inside on_next of element 2,000 instead of a million, so the streams are shorter, too."""
    monkeypatch.setattr(beyond_subscription, "_LONG_RUN", 2_000)

    def make(elements: int) -> CompletesAfterACancel:
        return CompletesAfterACancel(elements - 998_000 if elements >= 1_000_000 else elements)

    assert judge_publisher(Case(FLAT, make, "")).status is Status.PASSED


class _Hot:
    """Emits after the test."""

    cancels = 0
    subscriber: Any = None

    def subscribe(self, subscriber: Any) -> None:
        self.subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n: int) -> None:
        pass

    def cancel(self) -> None:
        self.cancels += 1
