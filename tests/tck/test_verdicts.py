"""Every test has a verdict, even if hooks return None, raise or block, or the test does not terminate."""

from __future__ import annotations

import unittest
from threading import Event, Thread, current_thread, enumerate
from typing import Any, ClassVar

import pytest

from pyrs.tck import (
    IdentityProcessorVerification,
    Kind,
    PublisherVerification,
    Report,
    Skipped,
    Status,
    SubscriberBlackboxVerification,
    TestEnvironment,
    Verdict,
    judge,
    verify,
)
from pyrs.tck.verdicts import unexpected
from tests.tck.clock import Clock
from tests.tck.right import Inert, RightPublisher, RightSubscriber, RightSubscription
from tests.tck.test_processors import RightProcessor
from tests.tck.wrong_subscribers import Silent

TEST = "required_spec105_mustSignalOnCompleteWhenFiniteStreamTerminates"
QUICK = TestEnvironment(timeout=30, no_signals_timeout=0.02, hook_timeout=1, deadline=3)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


class _Verification(PublisherVerification[Any]):
    environment = QUICK

    def create_publisher(self, elements: int) -> Any:
        return RightPublisher(elements)


def test_a_hook_that_returns_none_fails() -> None:
    class Nothing(_Verification):
        def create_publisher(self, elements: int) -> Any:
            return None

    verdict = judge(Nothing, TEST)
    assert verdict.status is Status.FAILED
    assert verdict.reason == "create_publisher(3) returned None, which has no method subscribe()"


def test_a_hook_that_raises_fails_with_its_frames() -> None:
    class Raises(_Verification):
        def create_publisher(self, elements: int) -> Any:
            raise OSError("the database is away")

    verdict = judge(Raises, TEST)
    assert verdict.status is Status.FAILED
    assert verdict.reason == "create_publisher(3) raised OSError: the database is away"
    assert "in create_publisher" in verdict.details


def test_the_reason_names_a_missing_hook() -> None:
    class Forgotten(PublisherVerification[Any]):
        environment = QUICK

    assert "Forgotten must define create_publisher(elements)" in judge(Forgotten, TEST).reason


def test_a_hook_that_blocks_fails_within_its_deadline_with_its_frames(clock: Clock) -> None:
    for_ever = Event()

    class Blocked(_Verification):
        def create_publisher(self, elements: int) -> Any:
            clock.advance()
            for_ever.wait()

    verdict = judge(Blocked, TEST)
    assert verdict.status is Status.FAILED
    assert verdict.reason == "create_publisher(3) did not return within 1000 ms"
    assert "in create_publisher" in verdict.details
    for_ever.set()


def test_the_run_continues_after_hooks_that_return_none_raise_and_block(clock: Clock) -> None:
    for_ever = Event()

    class Unreliable(_Verification):
        skip_tests: ClassVar[dict[str, str]] = {
            name: "one test is enough here"
            for name in PublisherVerification.test_names()
            if name not in (_ONE_ELEMENT, _FIVE_ELEMENTS, TEST, _EMPTY, _LATER)
        }

        def create_publisher(self, elements: int) -> Any:
            if elements == 1:
                raise OSError("the database is away")
            if elements == 0:
                clock.advance()
                for_ever.wait()
            return None if elements == 5 else RightPublisher(elements)

    report = verify(Unreliable)
    for_ever.set()
    ran = [verdict for verdict in report.verdicts if not verdict.reason.startswith("by skip_tests")]
    assert [(verdict.name, verdict.status, verdict.reason) for verdict in ran] == [
        (_ONE_ELEMENT, Status.FAILED, "create_publisher(1) raised OSError: the database is away"),
        (_FIVE_ELEMENTS, Status.FAILED, "create_publisher(5) returned None, which has no method subscribe()"),
        (TEST, Status.PASSED, ""),
        (_EMPTY, Status.FAILED, "create_publisher(0) did not return within 1000 ms"),
        (_LATER, Status.PASSED, ""),
    ]
    assert len(report.verdicts) == len(PublisherVerification.test_names())
    assert not report.passed


_ONE_ELEMENT = "required_createPublisher1MustProduceAStreamOfExactly1Element"
_FIVE_ELEMENTS = "required_spec101_subscriptionRequestMustResultInTheCorrectNumberOfProducedElements"
_EMPTY = "optional_spec105_emptyStreamMustTerminateBySignallingOnComplete"
_LATER = "required_spec306_afterSubscriptionIsCancelledRequestMustBeNops"


@pytest.mark.parametrize(
    ("name", "test"),
    [
        ("max_elements_from_publisher", TEST),
        ("bounded_depth_of_on_next_and_request_recursion", "required_spec303_mustNotAllowUnboundedRecursion"),
        ("skip_stochastic_tests", "stochastic_spec103_mustSignalOnMethodsSequentially"),
    ],
)
def test_a_hook_that_returns_a_number_has_the_deadline_of_hooks(name: str, test: str, clock: Clock) -> None:
    def block(self: Any) -> None:
        clock.advance()
        Event().wait()

    block.__name__ = name
    verdict = judge(type("Blocked", (_Verification,), {name: block}), test)
    assert verdict.status is Status.FAILED
    assert verdict.reason == f"{name}() did not return within 1000 ms"


@pytest.mark.parametrize(
    ("name", "answer", "test"),
    [
        ("max_elements_from_publisher", float("inf"), TEST),
        ("max_elements_from_publisher", None, "required_validate_maxElementsFromPublisher"),
        ("bounded_depth_of_on_next_and_request_recursion", 1.5, "required_spec303_mustNotAllowUnboundedRecursion"),
        ("skip_stochastic_tests", None, "stochastic_spec103_mustSignalOnMethodsSequentially"),
    ],
)
def test_a_hook_that_does_not_return_a_number_fails(name: str, answer: Any, test: str) -> None:
    verdict = judge(type("Odd", (_Verification,), {name: lambda self: answer}), test)
    assert verdict.status is Status.FAILED
    assert f"must return a number or a bool, but returned {answer}" in verdict.reason


def test_a_number_above_the_maximum_means_an_endless_stream() -> None:
    """The official TCK has the same maximum, Long.MAX_VALUE."""

    class Endless(_Verification):
        def max_elements_from_publisher(self) -> int:
            return 10**40

    assert judge(Endless, TEST).status is Status.SKIPPED


def test_skip_tests_that_is_not_a_mapping_voids_the_run() -> None:
    class Listed(_Verification):
        skip_tests: ClassVar[Any] = [TEST]

    assert Listed.problems() == ["skip_tests must map test names to reasons, but is a list"]


def test_each_iteration_of_a_test_has_its_own_deadline(clock: Clock) -> None:
    class Slow(_Verification):
        def create_publisher(self, elements: int) -> Any:
            clock.advance_until_read(0.5)  # the sum of the iterations exceeds the deadline
            return RightPublisher(elements)

    verdict = judge(Slow, "stochastic_spec103_mustSignalOnMethodsSequentially")
    assert verdict.status is Status.PASSED
    assert verdict.seconds > QUICK.deadline


def test_a_test_that_does_not_terminate_is_stopped(clock: Clock) -> None:
    class Endless(RightPublisher):
        class subscription(RightSubscription):  # noqa: N801
            def request(self, n: int, /) -> None:
                clock.advance()
                while True:
                    pass

    class Verification(_Verification):
        def create_publisher(self, elements: int) -> Any:
            return Endless(elements)

    before = set(enumerate())
    verdict = judge(Verification, TEST)
    assert verdict.status is Status.FAILED
    assert verdict.reason == "the test did not end within 3000 ms: request(1) did not return (rules 3.4, 3.16)"
    assert "in request" in verdict.details
    assert_ended(before)  # a Python loop is stopped by an exception


def assert_ended(before: set[Thread]) -> None:
    for thread in set(enumerate()) - before:
        thread.join(30)
        assert not thread.is_alive(), thread


def test_a_subscriber_that_blocks_fails(clock: Clock) -> None:
    class Blocks(RightSubscriber):
        def on_next(self, element: Any, /) -> None:
            clock.advance()
            Event().wait()

    class Verification(SubscriberBlackboxVerification[int]):
        environment = QUICK

        def create_subscriber(self) -> Any:
            return Blocks()

        def create_element(self, n: int) -> int:
            return n

    verdict = judge(Verification, "required_spec201_blackbox_mustSignalDemandViaSubscriptionRequest")
    assert verdict.status is Status.FAILED
    assert "did not end within 3000 ms" in verdict.reason
    assert "in on_next" in verdict.details


def test_without_a_deadline_a_test_runs_on_the_calling_thread() -> None:
    class Debugged(_Verification):
        environment = TestEnvironment(deadline=None)
        seen: ClassVar[list[Thread]] = []

        def create_publisher(self, elements: int) -> Any:
            self.seen.append(current_thread())
            return RightPublisher(elements)

    assert judge(Debugged, TEST).status is Status.PASSED
    assert Debugged.seen == [current_thread()]


SKIPS = pytest.mark.parametrize("skip", [Skipped, unittest.SkipTest, pytest.skip.Exception])


@SKIPS
@pytest.mark.parametrize("hook", ["set_up", "create_publisher", "max_elements_from_publisher"])
def test_a_hook_may_skip(skip: type[BaseException], hook: str) -> None:
    def not_here(self: object, *arguments: object) -> Any:
        raise skip("there is no database here")

    verdict = judge(type("NotHere", (_Verification,), {hook: not_here}), TEST)
    assert (verdict.status, verdict.reason, verdict.error) == (Status.SKIPPED, "there is no database here", None)


@SKIPS
def test_a_skip_of_tear_down_does_not_hide_a_violation(skip: type[BaseException]) -> None:
    class Late(_Verification):
        def create_publisher(self, elements: int) -> Any:
            return RightPublisher(0)

        def tear_down(self) -> None:
            raise skip("the database is away")

    assert judge(Late, TEST).status is Status.FAILED


@SKIPS
@pytest.mark.parametrize("hook", ["create_subscriber", "create_element", "create_helper_publisher", "trigger_request"])
def test_a_hook_of_a_subscriber_may_skip(skip: type[BaseException], hook: str) -> None:
    """``create_element`` is called on the thread of the helper Publisher."""

    class Verification(SubscriberBlackboxVerification[int]):
        environment = TestEnvironment(timeout=3, no_signals_timeout=0.02)  # the element does not arrive

        def create_subscriber(self) -> Any:
            return RightSubscriber()

        def create_element(self, n: int) -> int:
            return n

    def not_here(self: object, *arguments: object) -> Any:
        raise skip("there is no database here")

    test = "required_spec201_blackbox_mustSignalDemandViaSubscriptionRequest"
    verdict = judge(type("NotHere", (Verification,), {hook: not_here}), test)
    assert (verdict.status, verdict.reason, verdict.error) == (Status.SKIPPED, "there is no database here", None)


def test_a_test_in_skip_tests_is_skipped_with_its_reason() -> None:
    class Skips(_Verification):
        skip_tests: ClassVar[dict[str, str]] = {TEST: "a stream of ticks does not end"}

    assert judge(Skips, TEST).reason == "by skip_tests: a stream of ticks does not end"


def test_set_up_and_tear_down_are_called_around_each_test() -> None:
    class Prepared(_Verification):
        calls: ClassVar[list[str]] = []

        def set_up(self) -> None:
            self.calls.append("set up")

        def tear_down(self) -> None:
            self.calls.append("torn down")

        def create_publisher(self, elements: int) -> Any:
            raise OSError

    judge(Prepared, TEST)
    judge(Prepared, TEST)
    assert Prepared.calls == ["set up", "torn down"] * 2


def test_a_late_error_does_not_fail_the_next_test() -> None:
    """A Publisher signals after its test."""
    kept: list[Any] = []

    class Late(RightPublisher):
        def subscribe(self, subscriber: Any, /) -> None:
            kept.append(subscriber)
            super().subscribe(subscriber)

    class Verification(_Verification):
        def create_publisher(self, elements: int) -> Any:
            for subscriber in kept:
                subscriber.on_error(RuntimeError("too late"))
            return Late(elements)

    assert judge(Verification, TEST).status is Status.PASSED
    assert judge(Verification, TEST).status is Status.PASSED


def test_threads_end_with_their_tests() -> None:
    class Verification(SubscriberBlackboxVerification[int]):
        environment = QUICK

        def create_subscriber(self) -> Any:
            return Silent()

        def create_element(self, n: int) -> int:
            return n

    before = set(enumerate())
    judge(
        Verification, "required_spec209_blackbox_mustBePreparedToReceiveAnOnCompleteSignalWithoutPrecedingRequestCall"
    )
    assert_ended(before)


def verdict(name: str, status: Status = Status.PASSED, kind: Kind = Kind.REQUIRED) -> Verdict:
    return Verdict(name, kind, status)


def test_a_missing_test_or_another_kind_voids_the_run() -> None:
    ran = tuple(judge(_Verification, name) for name in list(_Verification.expected)[:2])
    missing = unexpected(_Verification, ran)
    assert len(missing) == 36
    assert missing[0] == "required_validate_maxElementsFromPublisher did not run"
    other = unexpected(_Verification, (verdict("required_new"), verdict(TEST, kind=Kind.OPTIONAL)))
    assert "required_new is not a test of the official TCK" in other
    assert f"{TEST} ran as optional, but the official TCK has it as required" in other
    assert not Report("mine", "python", ran, tuple(missing)).passed


def test_an_exception_of_create_element_is_reported() -> None:
    class Verification(SubscriberBlackboxVerification[int]):
        environment = TestEnvironment(timeout=5, no_signals_timeout=0.02)  # the element does not arrive

        def create_subscriber(self) -> Any:
            return RightSubscriber()

        def create_element(self, n: int) -> int:
            raise OSError("the database is away")

    verdict = judge(Verification, "required_spec201_blackbox_mustSignalDemandViaSubscriptionRequest")
    assert verdict.reason == "create_element(0) raised OSError: the database is away"
    assert "rule" not in verdict.details, "no Subscriber was judged"


def test_an_interrupted_run_stops_its_test(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyrs.tck import verdicts

    class Endless(_Verification):
        def create_publisher(self, elements: int) -> Any:
            while True:
                pass

    def interrupted(*arguments: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(verdicts, "_await", interrupted)
    before = set(enumerate())
    with pytest.raises(KeyboardInterrupt):
        judge(Endless, TEST)
    assert_ended(before)


def test_a_report_counts_additional_tests_separately() -> None:
    report = Report(
        "mine:Mine",
        "python",
        (
            verdict("required_a"),
            verdict("optional_b", Status.SKIPPED, Kind.OPTIONAL),
            verdict("beyond_c", Status.FAILED, Kind.BEYOND),
        ),
    )
    assert str(report) == ("mine:Mine (python): 2 TCK tests: 1 passed, 1 skipped; 1 additional tests: 1 failed")
    assert not report.passed
    assert Report("mine", "python", (verdict("required_a"), verdict("optional_b", Status.SKIPPED))).passed


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit()])
def test_a_base_exception_fails_the_test(error: BaseException) -> None:
    class Raises(RightPublisher):
        def subscribe(self, subscriber: Any, /) -> None:
            raise error

    class Verification(_Verification):
        def create_publisher(self, elements: int) -> Any:
            return Raises(elements)

    verdict = judge(Verification, TEST)
    assert verdict.status is Status.FAILED
    assert type(error).__name__ in verdict.reason


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class CausesItself(Exception):
    """An exception whose causes form a cycle."""

    def __init__(self) -> None:
        self.__cause__ = RuntimeError("in the middle")
        self.__cause__.__cause__ = self


@pytest.mark.parametrize("error", [Unprintable(), CausesItself()], ids=lambda error: type(error).__name__)
def test_an_unusual_exception_of_a_publisher_fails_one_test(error: Exception) -> None:
    class Raises(RightPublisher):
        def subscribe(self, subscriber: Any, /) -> None:
            raise error

    class Verification(_Verification):
        def create_publisher(self, elements: int) -> Any:
            return Raises(elements)

    verdict = judge(Verification, TEST)
    assert verdict.status is Status.FAILED
    assert type(error).__name__ in verdict.reason


def test_a_signalled_exception_whose_str_raises_is_named() -> None:
    class Fails(RightPublisher):
        def subscribe(self, subscriber: Any, /) -> None:
            subscriber.on_subscribe(Inert())
            subscriber.on_error(Unprintable())

    class Verification(_Verification):
        def create_publisher(self, elements: int) -> Any:
            return Fails(elements)

    verdict = judge(Verification, TEST)
    assert "Unprintable: <Unprintable, whose str() raises ValueError>" in verdict.reason


@pytest.mark.parametrize("hook", ["set_up", "tear_down", "create_publisher"])
def test_a_hook_that_is_a_coroutine_function_fails(hook: str) -> None:
    async def asynchronous(self: Any, *arguments: Any) -> None:
        pass

    verdict = judge(type("Asynchronous", (_Verification,), {hook: asynchronous}), TEST)
    assert verdict.status is Status.FAILED
    assert verdict.reason.startswith(f"{hook}(")
    assert verdict.reason.endswith("returned a coroutine: define it with def instead of async def")


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("hook", ["set_up", "tear_down"])
def test_a_hook_that_is_a_generator_fails(hook: str, asynchronous: bool) -> None:
    def plain(self: Any) -> Any:
        yield

    async def awaited(self: Any) -> Any:
        yield

    verdict = judge(type("Yields", (_Verification,), {hook: awaited if asynchronous else plain}), TEST)
    assert verdict.reason == f"{hook}() returned a generator, whose code never runs: define it without yield"


async def _asynchronous(self: Any, *arguments: Any) -> None:
    pass


class _AsynchronousCall:
    async def __call__(self, *arguments: Any) -> None:
        pass


@pytest.mark.parametrize("asynchronous", [_asynchronous, _AsynchronousCall()], ids=["function", "object"])
@pytest.mark.parametrize("method", ["on_subscribe", "on_next", "on_error", "on_complete"])
def test_a_subscriber_with_a_coroutine_method_fails(method: str, asynchronous: Any) -> None:
    class Verification(SubscriberBlackboxVerification[Any]):
        environment = QUICK

        def create_subscriber(self) -> Any:
            return type("Asynchronous", (RightSubscriber,), {method: asynchronous})()

        def create_element(self, n: int) -> Any:
            return n

    verdict = judge(
        Verification, "required_spec209_blackbox_mustBePreparedToReceiveAnOnCompleteSignalWithPrecedingRequestCall"
    )
    assert verdict.status is Status.FAILED
    assert f"whose method {method}() is a coroutine function" in verdict.reason


class _HookRaises(IdentityProcessorVerification[Any]):
    """The hook ``failing`` raises ``error``."""

    environment = TestEnvironment(timeout=3, no_signals_timeout=0.02)
    failing: ClassVar[str]
    error: ClassVar[BaseException]

    def create_identity_processor(self, buffer_size: int) -> Any:
        return RightProcessor()

    def create_element(self, n: int) -> Any:
        return n

    def __getattribute__(self, name: str) -> Any:
        if name != object.__getattribute__(self, "failing"):
            return object.__getattribute__(self, name)

        def hook(*arguments: Any) -> None:
            raise self.error

        return hook


@pytest.mark.parametrize("error", [KeyboardInterrupt(), pytest.exit.Exception("enough")], ids=["interrupt", "exit"])
@pytest.mark.parametrize(
    ("hook", "test"),
    [
        ("set_up", TEST),
        ("tear_down", TEST),
        ("max_elements_from_publisher", TEST),
        ("create_publisher", TEST),
        ("create_publisher", "optional_spec111_maySupportMultiSubscribe"),
        ("create_failed_publisher", "optional_spec104_mustSignalOnErrorWhenFails"),
        ("create_identity_processor", "required_spec201_mustSignalDemandViaSubscriptionRequest"),
        ("create_helper_publisher", "required_spec201_mustSignalDemandViaSubscriptionRequest"),
        ("create_element", "required_spec308_requestMustRegisterGivenNumberElementsToBeProduced"),
        ("max_supported_subscribers", "required_mustRequestFromUpstreamForElementsThatHaveBeenRequestedLongAgo"),
    ],
)
def test_a_hook_that_ends_the_run_ends_it(hook: str, test: str, error: BaseException) -> None:
    verification = type("Ends", (_HookRaises,), {"failing": hook, "error": error})
    with pytest.raises(type(error)) as raised:
        judge(verification, test)
    assert raised.value is error


def test_create_element_that_fails_the_test_is_named_with_its_frames() -> None:
    class Fails(_HookRaises):
        failing = ""

        def create_element(self, n: int) -> Any:
            pytest.fail("no element")

    verdict = judge(Fails, "required_spec308_requestMustRegisterGivenNumberElementsToBeProduced")
    assert verdict.reason == "create_element(0) raised Failed: no element"
    assert "in create_element" in verdict.details
