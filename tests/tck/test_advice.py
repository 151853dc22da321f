"""The message of a failed test: the expectation, the rule, the signals, the likely cause and a link."""

from __future__ import annotations

from threading import Thread
from typing import Any

import pytest

from pyrs.rules import RULES
from pyrs.tck import IdentityProcessorVerification, Kind, PublisherVerification, TestEnvironment, advice, judge
from pyrs.tck.advice import rule_of
from pyrs.tck.expected import kind_of
from pyrs.tck.trace import RecordedSubscriber, Trace, original
from pyrs.tck.waiting import started
from tests.tck import test_false_passes, test_wrong_publishers, wrong_sharing, wrong_subscribers
from tests.tck import wrong_publishers as wrong
from tests.tck.judging import Case, judge_blackbox, judge_publisher, judge_whitebox
from tests.tck.right import Inert, RightPublisher, RightSubscriber, RightSubscription

NO_MORE = "required_spec107_mustNotEmitFurtherSignalsOnceOnCompleteHasBeenSignalled"


def test_a_failure_shows_expectation_rule_signals_cause_and_link() -> None:
    verdict = judge_publisher(Case(NO_MORE, wrong.GoesOnAfterComplete, ""))
    explanation, _, frames = verdict.details.partition("\n\n")
    assert explanation.splitlines() == [
        "expected: After on_complete there must be no further signals (§1.7).",
        f"rule 1.7 (MUST): {RULES['1.7'].text}",
        "signals:",
        "  test  --on_subscribe--request(10)--0--|--request(10)--0--",
        f"likely cause: {advice._CAUSES['1.7']}",
        "see: https://github.com/reactive-streams/reactive-streams-jvm/blob/v1.0.4/README.md#1.7",
    ]
    assert "wrong_publishers.py" in frames


def test_a_failure_shows_a_line_of_signals_for_each_subscriber() -> None:
    verdict = judge_publisher(Case("beyond_spec111_mustSeparateItsSubscribers", wrong_sharing.FirstFeedsTheOthers, ""))
    assert "  Subscriber 1, test  --on_subscribe----------------request(1)--1-----\n" in verdict.details
    assert "  Subscriber 2, test  ----------------on_subscribe-----------------1--\n" in verdict.details


def test_a_failure_of_a_late_call_names_the_timeout() -> None:
    class Late(PublisherVerification[Any]):
        environment = TestEnvironment(hook_timeout=0.1)

        def create_publisher(self, elements: int) -> Any:
            Thread(target=lambda: None).start()
            while True:
                pass

    assert "likely cause: If the call may take that long, set TestEnvironment(hook_timeout=...)." in (
        judge(Late, NO_MORE).details
    )


@pytest.mark.parametrize(
    ("name", "reason", "rule"),
    [
        (NO_MORE, "", "1.7"),
        (NO_MORE, "2 elements (rule 1.1)", "1.1"),
        (NO_MORE, "3 requests (rules 1.2, 1.3)", "1.3"),
        ("required_createPublisher1MustProduceAStreamOfExactly1Element", "published 0 elements", ""),
        ("beyond_spec317_x", "", "3.17"),
        (NO_MORE, "subscribe raised RuntimeError: refused by rule 7.3 (rule 1.9)", "1.9"),
        (NO_MORE, "create_publisher(1) raised ValueError: rules 7.3, 8.1", "1.7"),
    ],
)
def test_rule_of_prefers_the_reason_to_the_name(name: str, reason: str, rule: str) -> None:
    assert rule_of(name, reason) == rule


def test_every_rule_of_a_wrong_publisher_has_a_likely_cause() -> None:
    cases = (*test_wrong_publishers.CASES, *test_false_passes.CASES)
    rules = {rule_of(case.test, case.message) for case in cases} - {"", "1.10", "1.11"}
    assert rules - set(advice._CAUSES) == set()
    assert set(advice._CAUSES) - set(RULES) == set()


def test_a_trace_shows_the_last_signals_and_counts_the_others() -> None:
    trace = Trace(printed=False)
    assert str(trace) == ""
    for _ in range(20):
        trace.add(trace.new_subscriber() and 1, "x")
    assert str(trace).startswith("(4 earlier signals)\n")
    assert str(trace).count("x") == 16


def test_a_trace_shortens_long_elements_and_names_the_class_of_others() -> None:
    trace = Trace(printed=False)
    recorded = RecordedSubscriber(trace, RightSubscriber())
    recorded.on_subscribe(Inert())
    for element in ("a" * 100, object()):
        recorded.on_next(element)
    assert "'aaaaaaaaaaaaaaaa...--request(1)--object" in str(trace)


@pytest.mark.parametrize("name", IdentityProcessorVerification.test_names())
def test_a_trace_names_the_thread_of_each_test_alike(name: str) -> None:
    if kind_of(name) is not Kind.UNTESTED:
        trace = Trace(printed=False)
        started(name, trace.add, 1, "x").join()
        assert str(trace) == "test  --x--"


def test_original_returns_the_subscription_that_was_recorded() -> None:
    subscriber, inert = RightSubscriber(), Inert()
    RecordedSubscriber(Trace(printed=False), subscriber).on_subscribe(inert)
    assert subscriber.subscription is not None
    assert original(subscriber.subscription) is inert
    assert original(inert) is inert


@pytest.mark.parametrize(
    ("hook", "reason"),
    [
        ("create_publisher", "create_publisher(3) raised OSError: the database is away"),
        ("max_elements_from_publisher", "max_elements_from_publisher() raised OSError: the database is away"),
        ("set_up", "set_up() raised OSError: the database is away"),
        ("tear_down", "tear_down() raised OSError: the database is away"),
    ],
)
def test_a_hook_that_raises_is_not_explained_by_a_rule(hook: str, reason: str) -> None:
    """The Publisher was not judged, so it has not violated the rule of the test."""

    def fail(self: Any, *arguments: Any) -> Any:
        raise OSError("the database is away")

    fail.__name__ = hook
    hooks = {"create_publisher": lambda self, elements: RightPublisher(elements), hook: fail}
    verdict = judge(
        type("Away", (PublisherVerification,), hooks), "required_spec105_mustSignalOnCompleteWhenFiniteStreamTerminates"
    )
    assert verdict.reason == reason
    assert verdict.details.startswith("expected: A finite stream must terminate with on_complete")
    assert "rule 1.5" not in verdict.details
    assert "likely cause" not in verdict.details
    assert "raise OSError" in verdict.details


def test_a_hook_that_exits_is_not_explained_by_a_rule() -> None:
    class Exits(PublisherVerification[Any]):
        def create_publisher(self, elements: int) -> Any:
            raise SystemExit(3)

    verdict = judge(Exits, "required_spec105_mustSignalOnCompleteWhenFiniteStreamTerminates")
    assert verdict.reason == "create_publisher(3) raised SystemExit: 3"
    assert "likely cause" not in verdict.details


class _Refuses(RightPublisher):
    """Raises for a second cancel, and for a request after a cancel."""

    class subscription(RightSubscription):  # noqa: N801
        def request(self, n: int, /) -> None:
            if self.stopped:
                raise RuntimeError("it is over")
            super().request(n)

        def cancel(self) -> None:
            if self.stopped:
                raise RuntimeError("it is over")
            super().cancel()


class _RaisesOnError(RightSubscriber):
    def on_error(self, error: BaseException, /) -> None:
        raise error


class _RefusesNoneWithValueError(RightPublisher):
    def subscribe(self, subscriber: Any, /) -> None:
        if subscriber is None:
            raise ValueError("no Subscriber")
        super().subscribe(subscriber)


class _FailsAtTheEnd(RightPublisher):
    class subscription(RightSubscription):  # noqa: N801
        def emit(self, subscriber: Any) -> None:
            if self.sent == self.elements:
                self.cancel()
                subscriber.on_error(StopIteration())
            else:
                super().emit(subscriber)


@pytest.mark.parametrize(
    ("judge_kind", "make", "test", "reason"),
    [
        (
            judge_publisher,
            _Refuses,
            "required_spec306_afterSubscriptionIsCancelledRequestMustBeNops",
            "request raised RuntimeError: it is over (rule 3.16)",
        ),
        (
            judge_publisher,
            _Refuses,
            "beyond_spec305_cancelMustBeThreadSafe",
            "cancel raised RuntimeError: it is over (rule 3.15); a concurrent call raised it",
        ),
        (
            judge_blackbox,
            _RaisesOnError,
            "required_spec203_blackbox_mustNotCallMethodsOnSubscriptionOrPublisherInOnError",
            "on_error raised RuntimeError: an error from the TCK (rule 2.13)",
        ),
        (
            judge_publisher,
            _RefusesNoneWithValueError,
            "required_spec109_subscribeThrowNPEOnNullSubscriber",
            "did not raise TypeError for subscribe(None), but ValueError: no Subscriber (rule 1.9)",
        ),
        (
            judge_publisher,
            _FailsAtTheEnd,
            "required_createPublisher1MustProduceAStreamOfExactly1Element",
            "unexpected on_error(StopIteration())",
        ),
    ],
)
def test_an_exception_names_the_method_that_raised_it(judge_kind: Any, make: Any, test: str, reason: str) -> None:
    """The rule of the test may differ from the violated one, and then its likely cause would mislead."""
    assert judge_kind(Case(test, make, "")).reason.endswith(reason)


_LESS = "required_spec102_maySignalLessThanRequestedAndTerminateSubscription"
_BLACK_ON_ERROR = "required_spec210_blackbox_mustBePreparedToReceiveAnOnErrorSignalWithPrecedingRequestCall"
_AFTER_CANCEL = "required_spec208_mustBePreparedToReceiveOnNextSignalsAfterHavingCalledSubscriptionCancel"
_RIGHT_NUMBER = "required_spec101_subscriptionRequestMustResultInTheCorrectNumberOfProducedElements"


@pytest.mark.parametrize(
    ("judge_kind", "make", "test", "rule"),
    [
        (judge_publisher, wrong.Silent, _RIGHT_NUMBER, "1.2"),
        (judge_publisher, wrong.Silent, _LESS, "1.2"),
        (judge_publisher, wrong.Silent, "required_spec303_mustNotAllowUnboundedRecursion", "1.2"),
        (judge_publisher, wrong.Silent, NO_MORE, "1.2"),
        (judge_publisher, wrong.Silent, "stochastic_spec103_mustSignalOnMethodsSequentially", "1.2"),
        (judge_publisher, wrong.NeverCompletes, "stochastic_spec103_mustSignalOnMethodsSequentially", "1.5"),
        (judge_publisher, wrong.ForgetsToComplete, _LESS, "1.5"),
        (judge_publisher, wrong.DoesNothing, _RIGHT_NUMBER, "1.9"),
        (judge_blackbox, wrong_subscribers.Silent, _BLACK_ON_ERROR, "2.1"),
        (judge_whitebox, wrong_subscribers.NeverCancels, _AFTER_CANCEL, "2.6"),
    ],
)
def test_a_missing_signal_is_explained_by_its_own_rule(judge_kind: Any, make: Any, test: str, rule: str) -> None:
    """The rule of the test differs, and its likely cause would mislead."""
    verdict = judge_kind(Case(test, make, ""))
    assert rule_of(verdict.name, verdict.reason) == rule
    assert f"likely cause: {advice._CAUSES[rule]}\n" in verdict.details


def test_a_request_of_no_element_is_explained_to_the_subscriber() -> None:
    class RequestsNothing(RightSubscriber):
        def on_subscribe(self, subscription: Any, /) -> None:
            subscription.request(0)

    verdict = judge_blackbox(Case(_BLACK_ON_ERROR, RequestsNothing, ""))
    assert verdict.reason == "request(0): the argument must be positive (rule 3.9)"
    assert "n must be at least 1" in verdict.details


def test_the_number_of_a_missing_element_precedes_the_rule() -> None:
    verdict = judge_publisher(Case(_LESS, wrong.Silent, ""))
    assert "element (element 1 of 3) within" in verdict.reason
    assert verdict.reason.endswith(" ms (rule 1.2)")
