"""The official TCK: right implementations pass it, and hooks, deadlines and skips have the port's messages."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

import pyrs
from pyrs.tck import (
    Family,
    JavaReferee,
    PublisherVerification,
    Report,
    Status,
    SubscriberBlackboxVerification,
    SubscriberWhiteboxVerification,
    TestEnvironment,
    Verdict,
    as_test_case,
)
from pyrs.tck._java.scope import Scope
from pyrs.tck.expected import PUBLISHER
from pyrs.tck.referees import PythonReferee, compared
from tests.tck.clock import Clock
from tests.tck.judging import verify_concurrently
from tests.tck.right import (
    Columns,
    Puppet,
    RightFailedPublisher,
    RightProbed,
    RightPublisher,
    RightSubscriber,
    RightSubscription,
)
from tests.tck.test_processors import _RightVerification
from tests.waiting import eventually

COMPLETES = "required_spec105_mustSignalOnCompleteWhenFiniteStreamTerminates"
# The official TCK checks the error of §3.9 and the references of §3.13 once, at the end of the timeout. Only the tests
# of these two rules wait for the full timeout.
QUICK = TestEnvironment(timeout=5.0, no_signals_timeout=0.05, reference_timeout=5.0, hook_timeout=30.0, deadline=90.0)
NO_FAILED = ("optional_spec104", "required_spec109_mayReject")


class _Right(PublisherVerification[Any]):
    environment = QUICK

    def create_publisher(self, elements: int) -> Any:
        return RightPublisher(elements)

    def create_failed_publisher(self) -> Any:
        return RightFailedPublisher()


class _Range(PublisherVerification[Any]):
    environment = QUICK

    def create_publisher(self, elements: int) -> Any:
        return pyrs.range(elements)


class _Chain(PublisherVerification[Any]):
    """A chain of operators whose elements are containers."""

    environment = QUICK

    def create_publisher(self, elements: int) -> Any:
        return pyrs.from_iterable(range(2 * elements)).map(lambda n: {"n": n}).filter(lambda row: row["n"] % 2 == 0)

    def create_failed_publisher(self) -> Any:
        return pyrs.error(OSError("the database is away"))


class _Whitebox(SubscriberWhiteboxVerification[Any]):
    environment = QUICK

    def create_subscriber(self, probe: Any) -> Any:
        return RightProbed(probe)

    def create_element(self, n: int) -> Any:
        return [n]


class _Blackbox(SubscriberBlackboxVerification[Any]):
    environment = QUICK

    def create_subscriber(self) -> Any:
        return RightSubscriber()

    def create_element(self, n: int) -> Any:
        return n

    def create_helper_publisher(self, elements: int) -> Any:
        return pyrs.range(elements)


class _Processor(_RightVerification):
    environment = QUICK


@pytest.mark.timeout(300)
@pytest.mark.parametrize("family", Family)
@pytest.mark.parametrize(
    ("verification", "passed", "untested"),
    [
        (_Right, 31, 7),
        (_Range, 29, 7),
        (_Chain, 31, 7),
        (_Whitebox, 14, 13),
        (_Blackbox, 11, 15),
        (_Processor, 48, 20),
    ],
)
def test_right_implementations_pass_every_applicable_test(
    referees: Callable[[Family], JavaReferee],
    family: Family,
    verification: Any,
    passed: int,
    untested: int,
) -> None:
    report = verify_concurrently(referees(family), verification)
    assert report.passed, failures_of(report)
    assert (report.count(Status.PASSED), report.count(Status.UNTESTED)) == (passed, untested), failures_of(report)
    skipped = [verdict.name for verdict in report.verdicts if verdict.status is Status.SKIPPED]
    assert [name for name in skipped if not name.startswith(NO_FAILED)] == []


def failures_of(report: Report) -> list[Any]:
    fine = (Status.PASSED, Status.UNTESTED)
    return [*report.problems, *((v.name, v.reason) for v in report.verdicts if v.status not in fine)]


def test_both_tcks_agree(referee: JavaReferee) -> None:
    report = compared(*(verify_concurrently(each, _Chain) for each in (PythonReferee(), referee)))
    assert report.problems == ()


def test_signals_after_the_end_of_a_test_are_ignored(referee: JavaReferee) -> None:
    """The Publisher continues to emit on its own thread after cancel."""
    released, ended = threading.Event(), threading.Event()

    class Late(RightPublisher):
        def subscribe(self, subscriber: Any, /) -> None:
            super().subscribe(subscriber)

            def run() -> None:
                released.wait(60)
                try:
                    while True:
                        subscriber.on_next("late")
                except RuntimeError:
                    ended.set()

            threading.Thread(target=run, daemon=True).start()

    class Lates(_Right):
        def create_publisher(self, elements: int) -> Any:
            return Late(elements)

    assert referee.judge(Lates, COMPLETES).status is Status.PASSED
    released.set()
    assert ended.wait(60), "an endless Publisher must receive an exception"
    assert referee.judge(_Right, COMPLETES).status is Status.PASSED


class _Bad(PublisherVerification[Any]):
    environment = TestEnvironment(timeout=5.0, no_signals_timeout=0.02, hook_timeout=0.4, deadline=2)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_failing_hooks_have_the_same_message_in_both_tcks(referee: JavaReferee, clock: Clock) -> None:
    class Nothing(_Bad):
        def create_publisher(self, elements: int) -> Any:
            return None

    class Raises(_Bad):
        def create_publisher(self, elements: int) -> Any:
            raise OSError("the database is away")

    class Blocks(_Bad):
        def create_publisher(self, elements: int) -> Any:
            clock.advance()
            threading.Event().wait(5)

    for verification in (Nothing, Raises, Blocks):
        ours, java = (judge.judge(verification, COMPLETES) for judge in (PythonReferee(), referee))
        assert java.status is Status.FAILED
        assert java.reason == ours.reason
    assert "in create_publisher" in referee.judge(Raises, COMPLETES).details


def test_a_test_that_blocks_ends_at_its_deadline(referee: JavaReferee, clock: Clock) -> None:
    class Blocking(RightPublisher):
        class subscription(RightSubscription):  # noqa: N801
            def request(self, n: int, /) -> None:
                clock.advance()
                threading.Event().wait(30)

    class Blocks(_Bad):
        def create_publisher(self, elements: int) -> Any:
            return Blocking(elements)

    verdict = referee.judge(Blocks, COMPLETES)
    assert verdict.status is Status.FAILED
    assert "the test did not end within 2000 ms" in verdict.reason
    assert referee.judge(_Right, COMPLETES).status is Status.PASSED


def test_each_iteration_of_a_test_has_its_own_deadline(referee: JavaReferee, clock: Clock) -> None:
    class Slow(_Right):
        def create_publisher(self, elements: int) -> Any:
            clock.advance_until_read(10)  # the sum of the iterations exceeds the deadline
            return RightPublisher(elements)

    verdict = referee.judge(Slow, "stochastic_spec103_mustSignalOnMethodsSequentially")
    assert verdict.status is Status.PASSED, verdict.reason
    assert verdict.seconds == pytest.approx(1_000)


def test_a_late_puppet_has_the_same_message_in_both_tcks(referee: JavaReferee, clock: Clock) -> None:
    class Blocked(Puppet):
        def trigger_request(self, elements: int) -> None:
            clock.advance()
            threading.Event().wait(5)

    class Blocking(RightProbed):
        puppet = Blocked

    class Blocks(_Whitebox):
        environment = _Bad.environment

        def create_subscriber(self, probe: Any) -> Any:
            return Blocking(probe)

    for judge in (PythonReferee(), referee):
        verdict = judge.judge(Blocks, "required_exerciseWhiteboxHappyPath")
        assert verdict.reason == "puppet.trigger_request(1) did not return within 400 ms"


def test_no_thread_remains_after_the_tests(referee: JavaReferee) -> None:
    before = set(threading.enumerate())

    def running_threads() -> list[threading.Thread]:
        threads = set(threading.enumerate()) - before
        return [thread for thread in threads if thread.name.startswith("pyrs-tck")]

    for _ in range(5):
        assert referee.judge(_Processor, COMPLETES).status is Status.PASSED
    eventually(lambda: not running_threads(), lambda: f"{running_threads()} still run")


def test_skips_of_hooks_are_reported(referee: JavaReferee) -> None:
    class Skips(_Right):
        skip_tests: ClassVar[dict[str, str]] = {COMPLETES: "it never does; see #12"}

        def create_publisher(self, elements: int) -> Any:
            pytest.skip("no database here")

    assert referee.judge(Skips, COMPLETES).reason == "by skip_tests: it never does; see #12"
    verdict = referee.judge(Skips, "required_createPublisher1MustProduceAStreamOfExactly1Element")
    assert (verdict.status, verdict.reason) == (Status.SKIPPED, "no database here")


def test_unittest_runs_the_official_tck(referee: JavaReferee) -> None:
    case = as_test_case(_Right, referee)
    assert sum(name.startswith("test_") for name in vars(case)) == len(PUBLISHER) + 1
    assert case(f"test_{COMPLETES}").run().wasSuccessful()


def test_an_unknown_test_of_the_official_tck_voids_the_run(
    referee: JavaReferee, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(referee, "judge", lambda verification, name: Verdict(name, PUBLISHER[name], Status.PASSED))
    real = Scope.call

    def call(self: Scope, method: str, target: int, *arguments: Any) -> Any:
        names = real(self, method, target, *arguments)
        return f"{names}\nrequired_new" if method == "names" else names

    assert referee.verify(_Right).problems == ()
    monkeypatch.setattr(Scope, "call", call)
    assert referee.verify(_Right).problems == ("the official TCK has the test required_new, which pyrs does not know",)


def test_elements_may_be_arrays(referee: JavaReferee) -> None:
    class Arrays(_Whitebox):
        def create_element(self, n: int) -> Any:
            return Columns([n])

    verdict = referee.judge(Arrays, "required_exerciseWhiteboxHappyPath")
    assert verdict.status is Status.PASSED, verdict.reason
