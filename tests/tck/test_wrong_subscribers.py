"""Every test of Subscribers rejects a wrong Subscriber with a useful message."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Timer
from typing import Any, ClassVar

import pytest

from pyrs.api import Subscription
from pyrs.tck import (
    Kind,
    Status,
    SubscriberBlackboxVerification,
    SubscriberWhiteboxVerification,
    beyond_subscriber,
    judge,
    verify,
)
from pyrs.tck.expected import BLACKBOX, WHITEBOX
from tests.tck import judging
from tests.tck import wrong_subscribers as wrong
from tests.tck.judging import PATIENT, Case, assert_verdict, judge_blackbox, judge_whitebox
from tests.tck.right import Columns, Puppet, RightProbed, RightSubscriber

HAPPY = "required_exerciseWhiteboxHappyPath"
DEMAND = "required_spec201_mustSignalDemandViaSubscriptionRequest"
ON_COMPLETE = "required_spec203_mustNotCallMethodsOnSubscriptionOrPublisherInOnComplete"
ON_ERROR = "required_spec203_mustNotCallMethodsOnSubscriptionOrPublisherInOnError"
SECOND = "required_spec205_mustCallSubscriptionCancelIfItAlreadyHasAnSubscriptionAndReceivesAnotherOnSubscribeSignal"
LATE = "required_spec208_mustBePreparedToReceiveOnNextSignalsAfterHavingCalledSubscriptionCancel"
END = "required_spec209_mustBePreparedToReceiveAnOnCompleteSignalWith{}PrecedingRequestCall"
ERROR = "required_spec210_mustBePreparedToReceiveAnOnErrorSignalWith{}PrecedingRequestCall"
NULL = "required_spec213_{}_mustThrowNullPointerExceptionWhenParametersAreNull"
MANY = "required_spec308_requestMustRegisterGivenNumberElementsToBeProduced"

CASES = [
    Case(HAPPY, wrong.ForgetsToRegister, "did not call register_on_subscribe within 1000 ms"),
    Case(HAPPY, wrong.ForgetsElements, "did not call register_on_next(0) within 1000 ms"),
    Case(HAPPY, wrong.RegistersAnother, "reported on_next(1) instead of on_next(0)"),
    Case(HAPPY, wrong.NeverCancels, "the Subscriber did not cancel its Subscription"),
    Case(DEMAND, wrong.NeverRequests, "the Subscriber did not call request() within 1000 ms"),
    Case(DEMAND, wrong.RequestsNothing, "request(0): the argument must be positive (rule 3.9)"),
    Case(
        ON_COMPLETE, wrong.RequestsInOnComplete, "Subscription.request must not be called from Subscriber.on_complete"
    ),
    Case(ON_COMPLETE, wrong.CancelsInOnComplete, "Subscription.cancel must not be called from Subscriber.on_complete"),
    Case(ON_ERROR, wrong.RequestsInOnError, "Subscription.request must not be called from Subscriber.on_error"),
    Case(ON_ERROR, wrong.CancelsInOnError, "wrong_subscribers.py:"),
    Case(SECOND, wrong.TakesEverySubscription, "did not cancel the second Subscription within 1000 ms (rule 2.5)"),
    Case(LATE, wrong.RaisesAfterCancel, "RuntimeError: But I thought it's cancelled!"),
    Case(LATE, wrong.NeverCancels, "the Subscriber did not cancel its Subscription"),
    Case(END.format(""), wrong.ForgetsTheEnd, "did not call register_on_complete() within 1000 ms"),
    Case(END.format("out"), wrong.ForgetsTheEnd, "did not call register_on_complete() within 1000 ms"),
    Case(ERROR.format(""), wrong.RaisesOnError, "RuntimeError: Wrong, don't do this!"),
    Case(ERROR.format(""), wrong.ReportsAnotherError, "reported on_error(RuntimeError('another')) instead of"),
    Case(ERROR.format("out"), wrong.RaisesOnError, "RuntimeError: Wrong, don't do this!"),
    Case(ERROR.format("out"), wrong.ForgetsTheError, "did not call register_on_error(RuntimeError("),
    Case(NULL.format("onSubscribe"), wrong.TakesNone, "on_subscribe(None) did not raise TypeError (rule 2.13)"),
    Case(NULL.format("onNext"), wrong.TakesNone, "on_next(None) did not raise TypeError (rule 2.13)"),
    Case(NULL.format("onError"), wrong.TakesNone, "on_error(None) did not raise TypeError (rule 2.13)"),
    Case(MANY, wrong.RequestsOneOnly, "the Subscriber did not call request() within 1000 ms"),
    Case(MANY, wrong.RegistersTwice, "reported on_next(0) instead of on_next(1)"),
    Case(
        "beyond_spec204_mustLeaveTheSubscriptionAloneAfterOnComplete",
        wrong.RequestsLater,
        "the Subscriber called request(1) after on_complete (rules 2.3, 2.4)",
    ),
    Case(
        "beyond_spec204_mustLeaveTheSubscriptionAloneAfterOnError",
        wrong.RequestsLater,
        "the Subscriber called request(1) after on_error (rules 2.3, 2.4)",
    ),
    Case(
        "beyond_spec205_mustNotRequestFromASecondSubscription",
        wrong.TriesTheSecond,
        "called request(1) on its second Subscription (rule 2.5)",
    ),
    Case(
        "beyond_spec206_mustCancelWheneverItIsTold",
        wrong.NeverCancels,
        "before any request, the Subscriber did not cancel",
    ),
    Case(
        "beyond_spec207_mustCallTheSubscriptionSerially",
        wrong.RequestsOnAThreadOfItsOwn,
        "illegal concurrent access (rule 2.7)",
    ),
    Case("beyond_spec211_mustProcessSignalsInTheirOrder", wrong.HoldsTheFirstBack, "instead of on_next(0)"),
    Case("beyond_spec211_mustProcessSignalsInTheirOrder", wrong.NeverRequests, "the Subscriber requested 0 within"),
    Case(
        "beyond_spec301_mustUseItsOwnSubscriptionOnly",
        wrong.SharesTheSubscription,
        "on the Subscription of another Subscriber (rule 3.1)",
    ),
]


def black(name: str) -> str:
    number, _, rest = name.removeprefix("required_").partition("_")
    return f"required_{number}_blackbox_{rest}"


BLACKBOX_CASES = [
    Case(black(DEMAND), wrong.Silent, "the Subscriber did not call request() within 1000 ms"),
    Case(black(DEMAND), wrong.Negative, "request(-1): the argument must be positive"),
    # The official TCK passes this, because it sends no element.
    Case(black(DEMAND), wrong.RaisesOnNext, "RuntimeError: what shall I do with 0?"),
    Case(black(DEMAND), wrong.RaisesOnComplete, "RuntimeError: It cannot be over!"),
    Case(black(ON_COMPLETE), wrong.BlackRequestsInOnComplete, "Subscription.request must not be called from"),
    Case(black(ON_COMPLETE), wrong.BlackCancelsInOnComplete, "Subscription.cancel must not be called from"),
    Case(black(ON_ERROR), wrong.BlackRequestsInOnError, "Subscription.request must not be called from"),
    Case(black(ON_ERROR), wrong.BlackCancelsInOnError, "Subscription.cancel must not be called from"),
    Case(black(SECOND), wrong.RequestsFromEach, "called request(1) on its second Subscription (rule 2.5)"),
    Case(black(SECOND), wrong.KeepsEach, "did not cancel the second Subscription within 1000 ms (rule 2.5)"),
    Case(black(END.format("")), wrong.Silent, "the Subscriber did not call request()"),
    Case(black(END.format("")), wrong.RaisesOnComplete, "RuntimeError: It cannot be over!"),
    Case(black(END.format("out")), wrong.RaisesOnComplete, "RuntimeError: It cannot be over!"),
    Case(black(ERROR.format("")), wrong.BlackRaisesOnError, "RuntimeError: Wrong, don't do this!"),
    Case(black(ERROR.format("")), wrong.Silent, "the Subscriber did not call request()"),
    Case(black(ERROR.format("out")), wrong.BlackRaisesOnError, "RuntimeError: Wrong, don't do this!"),
    Case(black(NULL.format("onSubscribe")), wrong.NoneIsFine, "on_subscribe(None) did not raise"),
    Case(black(NULL.format("onNext")), wrong.NoneIsFine, "on_next(None) did not raise"),
    Case(black(NULL.format("onError")), wrong.NoneIsFine, "on_error(None) did not raise"),
    Case(
        "beyond_spec204_mustLeaveTheSubscriptionAloneAfterOnComplete",
        wrong.BlackRequestsLater,
        "the Subscriber called request(1) after on_complete",
    ),
    Case(
        "beyond_spec204_mustLeaveTheSubscriptionAloneAfterOnError",
        wrong.BlackRequestsLater,
        "the Subscriber called request(1) after on_error",
    ),
    Case(
        "beyond_spec207_mustCallTheSubscriptionSerially",
        wrong.BlackRequestsOnThreads,
        "illegal concurrent access (rule 2.7)",
    ),
    Case("beyond_spec301_mustUseItsOwnSubscriptionOnly", wrong.BlackShares, "of another Subscriber (rule 3.1)"),
]


@pytest.fixture
def overlapping_calls(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make calls of the Subscription slow, so that concurrent calls overlap even on a loaded machine."""
    if "_spec207_" in case.test:
        monkeypatch.setattr(beyond_subscriber, "_CALL_DURATION", 0.5)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_wrong_subscriber_fails(case: Case, overlapping_calls: None) -> None:
    assert_verdict(judge_whitebox(case), case)


@pytest.mark.parametrize("case", BLACKBOX_CASES, ids=str)
def test_a_wrong_subscriber_fails_as_a_blackbox(case: Case, overlapping_calls: None) -> None:
    assert_verdict(judge_blackbox(case), case)


@pytest.mark.parametrize(
    ("names", "table", "cases"),
    [
        (SubscriberWhiteboxVerification.test_names, WHITEBOX, CASES),
        (SubscriberBlackboxVerification.test_names, BLACKBOX, BLACKBOX_CASES),
    ],
    ids=["whitebox", "blackbox"],
)
def test_every_test_rejects_some_subscriber(
    names: Callable[[], list[str]], table: Mapping[str, Kind], cases: list[Case]
) -> None:
    runnable = {name for name in names() if table.get(name) is not Kind.UNTESTED}
    assert {case.test for case in cases} == runnable


@pytest.mark.parametrize(
    ("judged", "table"), [(judge_whitebox, WHITEBOX), (judge_blackbox, BLACKBOX)], ids=["whitebox", "blackbox"]
)
def test_an_untested_test_names_the_reason(judged: Callable[[Case], Any], table: Mapping[str, Kind]) -> None:
    for name, kind in table.items():
        if kind is Kind.UNTESTED:
            verdict = judged(Case(name, wrong.RaisesOnNext, ""))
            assert verdict.status is Status.UNTESTED
            assert verdict.reason.startswith("not verified by the official TCK: ")


def test_the_right_subscriber_passes_everything() -> None:
    class Right(SubscriberWhiteboxVerification[int]):
        environment = PATIENT

        def create_subscriber(self, probe: Any) -> Any:
            return RightProbed(probe)

        def create_element(self, n: int) -> int:
            return n

    report = verify(Right)
    assert [(v.name, v.reason) for v in report.verdicts if v.status not in (Status.PASSED, Status.UNTESTED)] == []
    assert report.passed
    assert report.count(Status.PASSED) == 14


def test_the_right_subscriber_passes_everything_as_a_blackbox() -> None:
    class Right(SubscriberBlackboxVerification[int]):
        environment = PATIENT

        def create_subscriber(self) -> Any:
            return RightSubscriber()

        def create_element(self, n: int) -> int:
            return n

    report = verify(Right)
    assert [(v.name, v.reason) for v in report.verdicts if v.status not in (Status.PASSED, Status.UNTESTED)] == []
    assert report.passed
    assert report.count(Status.PASSED) == 11


def test_a_skip_of_the_official_test_of_none_also_applies_after_an_element() -> None:
    class Forwards(SubscriberBlackboxVerification[int]):
        environment = PATIENT
        skip_tests: ClassVar = {black(NULL.format("onNext")): "it forwards its signals"}

        def create_subscriber(self) -> Any:
            return wrong.AcceptsNoneElements()

        def create_element(self, n: int) -> int:
            return n

    assert verify(Forwards).passed


def test_trigger_request_is_called_for_a_subscriber_that_does_not_request() -> None:
    class Waits(SubscriberBlackboxVerification[int]):
        environment = PATIENT

        def create_subscriber(self) -> Any:
            return wrong.Silent()

        def create_element(self, n: int) -> int:
            return n

        def trigger_request(self, subscriber: Any) -> None:
            subscriber.subscription.request(1)

    assert verify(Waits).passed


# Implementations that must pass, from the tests of the official TCK.


class CallsFromAMethodOfThatName(RightProbed):
    """Calls the Subscription in methods of another object that are named like signals."""

    def accepted(self, subscription: Subscription) -> None:
        super().accepted(subscription)

        class Other:
            def on_complete(self) -> None:
                subscription.cancel()

            def on_error(self, error: BaseException) -> None:
                subscription.request(1)

        Other().on_complete()
        Other().on_error(RuntimeError())


@pytest.mark.parametrize("test", [ON_COMPLETE, ON_ERROR])
def test_methods_named_like_signals_are_not_mistaken_for_signals(test: str) -> None:
    assert judge_whitebox(Case(test, CallsFromAMethodOfThatName, "")).status is Status.PASSED


class WaitsBeforeItRequests(RightProbed):
    """Requests and cancels with a delay, and raises if an element arrives before the request."""

    requested = 0

    def accepted(self, subscription: Subscription) -> None:
        subscriber = self

        class Later(Puppet):
            def trigger_request(self, elements: int) -> None:
                def request() -> None:
                    subscriber.requested += elements
                    subscription.request(elements)

                Timer(0.05, request).start()

            def signal_cancel(self) -> None:
                Timer(0.05, subscription.cancel).start()

        self.probe.register_on_subscribe(Later(subscription))

    def on_next(self, element: Any, /) -> None:
        if not self.requested:
            raise RuntimeError("on_next signalled without demand!")
        super().on_next(element)


@pytest.mark.parametrize("test", [LATE, MANY, HAPPY])
def test_no_element_is_sent_before_it_is_requested(test: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "SHORT", PATIENT)
    assert judge_whitebox(Case(test, WaitsBeforeItRequests, "")).status is Status.PASSED


@pytest.mark.parametrize("test", [END.format("out"), ERROR.format("out")])
def test_a_silent_subscriber_passes_tests_that_need_no_request(test: str) -> None:
    assert judge_blackbox(Case(black(test), wrong.Silent, "")).status is Status.PASSED


@pytest.mark.parametrize("test", [HAPPY, MANY, "beyond_spec211_mustProcessSignalsInTheirOrder"])
def test_elements_may_be_arrays(test: str) -> None:
    class Arrays(SubscriberWhiteboxVerification[Any]):
        environment = PATIENT

        def create_subscriber(self, probe: Any) -> Any:
            return RightProbed(probe)

        def create_element(self, n: int) -> Any:
            return Columns([n])

    assert judge(Arrays, test).status is Status.PASSED
