"""Run one test of the TCK against one implementation, with short timeouts."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pyrs
from pyrs.tck import (
    PublisherVerification,
    Report,
    Status,
    SubscriberBlackboxVerification,
    SubscriberWhiteboxVerification,
    TestEnvironment,
    Verdict,
    judge,
)
from pyrs.tck.subscriber_hooks import SubscriberHooks
from pyrs.tck.verdicts import unexpected
from tests.tck.right import RightPublisher

Judge = Callable[[Any, str], Verdict]
# Many violations show only when a timeout expires. One second suffices: all signals are sent on the test's own thread.
SHORT = TestEnvironment(timeout=1, no_signals_timeout=0.03, reference_timeout=0.1, hook_timeout=30, deadline=60)
# Right implementations never reach these timeouts.
PATIENT = TestEnvironment(timeout=30, no_signals_timeout=0.03, reference_timeout=30, hook_timeout=30, deadline=90)


class Case(NamedTuple):
    """A wrong implementation and the expected verdict."""

    test: str
    make: Callable[..., Any]
    message: str
    status: Status = Status.FAILED
    hooks: dict[str, Any] = {}  # noqa: RUF012 - never modified

    def __str__(self) -> str:
        return f"{self.test}-{getattr(self.make, '__name__', 'made')}"


class Here(SubscriberHooks[Any]):
    """Has a synchronous helper Publisher, so that no test waits for its elements."""

    def create_helper_publisher(self, elements: int) -> Any:
        return pyrs.from_iterable(map(self.new_element, range(elements)))


def judge_publisher(case: Case, judge: Judge = judge) -> Verdict:
    """Test a Publisher; the factory receives the number of elements."""

    class _Verification(PublisherVerification[Any]):
        environment = SHORT

        def create_publisher(self, elements: int) -> Any:
            return case.make(elements)

    return judge(_with_hooks(_Verification, case), case.test)


def judge_failed_publisher(case: Case, judge: Judge = judge) -> Verdict:
    """Test a failed Publisher; the factory has no arguments."""

    class _Verification(PublisherVerification[Any]):
        environment = SHORT

        def create_publisher(self, elements: int) -> Any:
            return RightPublisher(elements)

        def create_failed_publisher(self) -> Any:
            return case.make()

    return judge(_with_hooks(_Verification, case), case.test)


def judge_whitebox(case: Case, judge: Judge = judge) -> Verdict:
    """Test a Subscriber with a probe; the factory receives the probe."""

    class _Verification(Here, SubscriberWhiteboxVerification[Any]):
        environment = SHORT

        def create_subscriber(self, probe: Any) -> Any:
            return case.make(probe)

        def create_element(self, n: int) -> Any:
            return n

    return judge(_with_hooks(_Verification, case), case.test)


def judge_blackbox(case: Case, judge: Judge = judge) -> Verdict:
    """Test a Subscriber from outside; the factory has no arguments."""

    class _Verification(Here, SubscriberBlackboxVerification[Any]):
        environment = SHORT

        def create_subscriber(self) -> Any:
            return case.make()

        def create_element(self, n: int) -> Any:
            return n

    return judge(_with_hooks(_Verification, case), case.test)


def verify_concurrently(referee: Any, verification: Any) -> Report:
    """Run several tests of the official TCK at a time in one JVM, because a test mostly waits."""
    with ThreadPoolExecutor(6) as pool:
        verdicts = tuple(pool.map(lambda name: referee.judge(verification, name), verification.expected))
    problems = verification.problems() + unexpected(verification, verdicts)
    return Report(verification.__name__, str(referee), verdicts, tuple(problems))


def _with_hooks(verification: type[Any], case: Case) -> type[Any]:
    hooks = {name: (lambda self, value=value: value) for name, value in case.hooks.items()}
    return type("_Hooked", (verification,), hooks)


def assert_verdict(verdict: Verdict, case: Case) -> None:
    """Compare the verdict's status and message with the expected ones."""
    assert verdict.status is case.status, f"{verdict.status.value} instead of {case.status.value}: {verdict.reason}"
    assert case.message in verdict.reason, f"the reason is: {verdict.reason}"
