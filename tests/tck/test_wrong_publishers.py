"""For every test of Publishers, a wrong Publisher that must fail it with a useful message."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from pyrs.tck import (
    Kind,
    PublisherVerification,
    Status,
    TestEnvironment,
    beyond_publisher,
    beyond_subscription,
    judge,
    races,
    verdicts,
    verify,
)
from pyrs.tck.expected import PUBLISHER
from tests.tck import test_false_passes, unusual, wrong_counting, wrong_demand
from tests.tck import wrong_publishers as wrong
from tests.tck.judging import PATIENT, Case, assert_verdict, judge_failed_publisher, judge_publisher
from tests.tck.right import Inert, RightFailedPublisher, RightPublisher, RightSubscription
from tests.tck.wrong_for_long import FOR_LONG
from tests.waiting import eventually

SAME = "optional_spec111_multicast_mustProduceTheSameElementsInTheSameSequenceToAllOfItsSubscribersWhenRequesting"
REJECT = (
    "required_spec109_mayRejectCallsToSubscribeIfPublisherIsUnableOrUnwillingToServeThemRejectionMustTriggerOnError"
    "AfterOnSubscribe"
)
RIGHT_NUMBER = "required_spec101_subscriptionRequestMustResultInTheCorrectNumberOfProducedElements"
LESS = "required_spec102_maySignalLessThanRequestedAndTerminateSubscription"
SERIAL = "stochastic_spec103_mustSignalOnMethodsSequentially"
FAILS = "optional_spec104_mustSignalOnErrorWhenFails"
COMPLETES = "required_spec105_mustSignalOnCompleteWhenFiniteStreamTerminates"
EMPTY = "optional_spec105_emptyStreamMustTerminateBySignallingOnComplete"
NO_MORE = "required_spec107_mustNotEmitFurtherSignalsOnceOnCompleteHasBeenSignalled"
FIRST = "required_spec109_mustIssueOnSubscribeForNonNullSubscriber"
REGISTERED = "optional_spec111_registeredSubscribersMustReceiveOnNextOrOnCompleteSignals"
NEGATIVE = "required_spec309_requestNegativeNumberMustSignalIllegalArgumentException"
ZERO = "required_spec309_requestZeroMustSignalIllegalArgumentException"
UP_TO_MAX = "required_spec317_mustSupportAPendingElementCountUpToLongMaxValue"

SKIP = Status.SKIPPED
OPTIONAL = "the Publisher does not implement this optional behaviour: "

CASES = [
    Case(
        "required_createPublisher1MustProduceAStreamOfExactly1Element",
        wrong.OneTooFew,
        "published 0 elements instead of 1",
    ),
    Case(
        "required_createPublisher1MustProduceAStreamOfExactly1Element",
        wrong.OneTooMany,
        "the stream but received element [2]",
    ),
    Case(
        "required_createPublisher3MustProduceAStreamOfExactly3Elements",
        wrong.OneTooFew,
        "published 2 elements instead of 3",
    ),
    Case(
        "required_validate_maxElementsFromPublisher",
        RightPublisher,
        "must return a number >= 0",
        hooks={"max_elements_from_publisher": -1},
    ),
    Case(
        "required_validate_boundedDepthOfOnNextAndRequestRecursion",
        RightPublisher,
        "must return a number >= 1",
        hooks={"bounded_depth_of_on_next_and_request_recursion": 0},
    ),
    Case(RIGHT_NUMBER, wrong.Silent, "published no element after the first request within 1000 ms"),
    Case(RIGHT_NUMBER, wrong.Eager, "published an element before the first request (rule 1.1): [1]"),
    Case(RIGHT_NUMBER, wrong.Generous, "published an element that was not requested (rule 1.1): [2]"),
    Case(LESS, wrong.Silent, "did not receive the expected element"),
    Case(LESS, wrong.NeverCompletes, "expected the end of the stream but received element [3]"),
    Case(LESS, wrong.ForgetsToComplete, "did not receive the expected on_complete"),
    Case(SERIAL, wrong.Concurrent, "illegal concurrent access (rule 1.3)"),
    Case(SERIAL, wrong.Silent, "iteration 0 of 100: expected 10 elements and on_complete, but received no"),
    Case(SERIAL, wrong.PublishesWithoutSubscription, "on_next was called before on_subscribe (rule 1.9)"),
    Case(SERIAL, RightPublisher, "skip_stochastic_tests() returned True", SKIP, {"skip_stochastic_tests": True}),
    Case(COMPLETES, wrong.NeverCompletes, "expected the end of the stream but received element [3]"),
    Case(COMPLETES, wrong.ForgetsToComplete, "did not receive the expected on_complete within 1000 ms"),
    Case(EMPTY, wrong.CompletesWithoutSubscription, "on_complete() was called before on_subscribe", SKIP),
    # The official TCK passes this, because it ignores the recorded errors of optional tests.
    Case(EMPTY, wrong.Silent, f"{OPTIONAL}did not receive the expected on_complete", SKIP),
    Case(NO_MORE, wrong.GoesOnAfterComplete, "unexpected element 0 received after the stream completed"),
    Case(NO_MORE, wrong.NeverCompletes, "expected the end of the stream but received element [1]"),
    Case(
        "required_spec109_subscribeThrowNPEOnNullSubscriber",
        wrong.DoesNothing,
        "did not raise TypeError for subscribe(None)",
    ),
    Case(FIRST, wrong.CompletesWithoutSubscription, "on_complete was called before on_subscribe (rule 1.9)"),
    Case(FIRST, wrong.EmitsWithoutSubscription, "on_next was called before on_subscribe (rule 1.9)"),
    Case(FIRST, wrong.FailsWithoutSubscription, "on_error was called before on_subscribe (rule 1.9)"),
    Case(FIRST, wrong.DoesNothing, "did not call on_subscribe within 1000 ms"),
    Case(FIRST, wrong.SubscribesTwice, "on_subscribe was called twice on one Subscriber (rule 2.12)"),
    Case("optional_spec111_maySupportMultiSubscribe", wrong.OneSubscriberOnly, "additional subscriber", SKIP),
    # The official TCK passes this, because it checks before it cancels.
    Case("optional_spec111_maySupportMultiSubscribe", wrong.FailsOnCancel, "Test Exception: Boom!", SKIP),
    Case(REGISTERED, wrong.OneSubscriberOnly, f"{OPTIONAL}Unexpected additional subscriber", SKIP),
    Case(REGISTERED, wrong.Silent, f"{OPTIONAL}did not receive the expected on_complete", SKIP),
    # The official TCK passes this and ManyUpfront, because its Subscriber does not record a buffer overflow.
    Case(REGISTERED, wrong.HidesTheOverflow, f"{OPTIONAL}received more than 32 on_next signals", SKIP),
    Case(SAME + "OneByOne", wrong.Random, "Subscribers 1 and 2 must receive the same elements in the same order", SKIP),
    # The official TCK passes this.
    Case(SAME + "OneByOne", wrong.ForgetsToComplete, "did not signal on_complete to Subscriber 3", SKIP),
    Case(
        SAME + "ManyUpfront", wrong.Random, "Subscribers 1 and 2 must receive the same elements in the same order", SKIP
    ),
    Case(SAME + "ManyUpfront", wrong.HidesTheOverflow, "received more than 32 on_next signals", SKIP),
    Case(SAME + "ManyUpfrontAndCompleteAsExpected", wrong.Random, "the same elements in the same order", SKIP),
    Case(SAME + "ManyUpfrontAndCompleteAsExpected", wrong.ForgetsToComplete, "the expected on_complete", SKIP),
    Case(
        "required_spec302_mustAllowSynchronousRequestCallsFromOnNextAndOnSubscribe",
        wrong.FailsOnRequest,
        "async error during the test: Boom: Test Exception: Boom!",
    ),
    Case("required_spec303_mustNotAllowUnboundedRecursion", wrong.Recursive, "but the bound of the recursion is 1"),
    Case("required_spec303_mustNotAllowUnboundedRecursion", wrong.Silent, "cannot measure the recursion"),
    Case(
        "required_spec306_afterSubscriptionIsCancelledRequestMustBeNops",
        wrong.NeverCompletes,
        "expected no element but received [0]",
    ),
    Case(
        "required_spec307_afterSubscriptionIsCancelledAdditionalCancelationsMustBeNops",
        wrong.FailsOnCancel,
        "async error during the test: Boom: Test Exception: Boom!",
    ),
    Case(
        "required_spec307_afterSubscriptionIsCancelledAdditionalCancelationsMustBeNops",
        wrong.CancelsOnce,
        "RuntimeError: cancelled already",
    ),
    Case(ZERO, wrong.Silent, "expected on_error(ValueError) within 1000 ms"),
    Case(ZERO, wrong.WrongErrorForZero, "expected on_error(ValueError) but received RuntimeError: request(0)"),
    Case(NEGATIVE, wrong.Silent, "expected on_error(ValueError) within 1000 ms"),
    Case(NEGATIVE, wrong.WrongErrorForZero, "expected on_error(ValueError) but received RuntimeError"),
    Case(
        "optional_spec309_requestNegativeNumberMaySignalIllegalArgumentExceptionWithSpecificMessage",
        wrong.SaysNothingOfTheRule,
        "contains none of ['3.9'",
        SKIP,
    ),
    Case(
        "required_spec312_cancelMustMakeThePublisherToEventuallyStopSignaling",
        wrong.TakesCancelForRequest,
        "published 16 elements, more than the 15 requested before cancel",
    ),
    Case(
        "required_spec313_cancelMustMakeThePublisherEventuallyDropAllReferencesToTheSubscriber",
        wrong.Keeps,
        "did not release the Subscriber after cancel (rule 3.13)",
    ),
    Case(UP_TO_MAX, wrong.IgnoresDemand, "received more than 32 on_next signals"),
    Case(UP_TO_MAX, wrong.OneTooMany, "expected the end of the stream but received element [4]"),
    Case(UP_TO_MAX, wrong.NoMoreThanMillions, "did not receive the expected element"),
    Case(
        "required_spec317_mustSupportACumulativePendingElementCountUpToLongMaxValue",
        wrong.Overflows,
        "did not receive the expected on_complete",
    ),
    Case(
        "required_spec317_mustNotSignalOnErrorWhenPendingAboveLongMaxValue",
        wrong.Overflows,
        "async error during the test: RuntimeError: Illegally signalling on_error (violates rule 3.17)",
    ),
    Case(
        "required_spec317_mustNotSignalOnErrorWhenPendingAboveLongMaxValue",
        wrong.Recursive,
        "RecursionError: maximum recursion depth exceeded",
    ),
    Case(
        "beyond_spec106_mustTreatTheSubscriptionAsCancelledAfterOnComplete",
        wrong.AnswersAfterTheEnd,
        "on_error was called after the terminal signal (rule 1.7)",
    ),
    Case(
        "beyond_spec106_mustTreatTheSubscriptionAsCancelledAfterOnError",
        wrong.GoesOnAfterError,
        "was called after the terminal signal (rule 1.7)",
    ),
    Case(
        "beyond_spec106_mustTreatTheSubscriptionAsCancelledAfterOnError",
        wrong.Silent,
        "did not signal on_error after request(0) within 1000 ms (rule 3.9)",
    ),
    Case(
        "beyond_spec106_mustDropTheSubscriberAfterOnComplete",
        wrong.Keeps,
        "did not release the Subscriber after on_complete (rules 1.6, 3.13)",
    ),
    Case(
        "beyond_spec108_mustStopWhenCancelledInsideOnNext",
        wrong.IgnoresCancelInside,
        "10000 elements arrived after cancel inside on_next (rule 1.8)",
    ),
    Case(
        "beyond_spec110_mustAnswerEverySubscriberWithOnSubscribeOnce",
        wrong.SubscribesOnce,
        "did not call on_subscribe on one of 10 Subscribers",
    ),
    Case(
        "beyond_spec110_mustAnswerEverySubscriberWithOnSubscribeOnce",
        wrong.SubscribesTwice,
        "on_subscribe was called twice on one Subscriber (rule 2.12)",
    ),
    Case(
        "beyond_spec110_mustAnswerEverySubscriberWithOnSubscribeOnce",
        wrong.OneSubscriberOnly,
        "subscribe raised RuntimeError: Unexpected additional subscriber for Subscriber 2 of 10",
    ),
    Case(
        "beyond_spec303_mustStayFlatThroughAMillionRequestsInsideOnNext",
        wrong.NestsLater,
        "2 nested on_next calls after 102 elements, but the bound of the recursion is 1 (rule 3.3)",
    ),
    Case(
        "beyond_spec303_mustStayFlatThroughAMillionRequestsInsideOnNext",
        wrong.StopsLater,
        "the Publisher stopped after 100 elements",
    ),
    Case("beyond_spec305_cancelMustReturnInTime", wrong.CancelsSlowly, "must return within 1000 ms (rule 3.5)"),
    Case("beyond_spec305_cancelMustBeThreadSafe", wrong.CancelsOnce, "RuntimeError: cancelled already"),
    Case("beyond_spec305_cancelMustBeThreadSafe", wrong.CompletesOnCancel, "on_complete() arrived after cancel"),
    Case(
        "beyond_spec315_cancelMustReturnNormally",
        wrong.CancelsOnce,
        "cancel() (rule 3.15) raised RuntimeError: cancelled already, after",
    ),
    Case(
        "beyond_spec316_requestMustReturnNormally",
        wrong.RaisesOnZero,
        "request(0) (rule 3.16) raised ValueError: 3.9, before any request",
    ),
    Case(
        "beyond_spec103_mustSignalSeriallyWhenManyThreadsRequest",
        wrong.Unguarded,
        "illegal concurrent access (rule 1.3)",
    ),
    Case(
        "beyond_spec103_mustSignalSeriallyWhenManyThreadsRequest",
        wrong.LosesRequests,
        "4 threads requested 100 elements, but",
    ),
    Case(
        "beyond_race_requestAgainstCancel",
        wrong.RaisesWhenCancelWins,
        "async error during the test: request raised RuntimeError: request after cancel (rule 3.16)",
    ),
    Case(
        "beyond_race_requestAgainstCancel",
        wrong.ExitsWhenCancelWins,
        "async error during the test: request raised SystemExit: 3 (rule 3.16)",
    ),
    Case(
        "beyond_race_cancelAgainstComplete",
        wrong.CompletesTwiceWhenCancelled,
        "on_complete was called after the terminal signal (rule 1.7)",
    ),
    Case(
        "beyond_spec101_mustNotExceedALargeDemand",
        wrong_demand.ExceedsAfterAThousand,
        "1501 elements arrived, but 1500 were requested (rule 1.1)",
    ),
    Case(
        "beyond_spec103_mustNotCompleteDuringOnNext",
        wrong_demand.CompletesDuringOnNext,
        "on_complete was called before on_next of the last element returned (rule 1.3)",
    ),
    Case(
        "beyond_spec111_mustSeparateItsSubscribers",
        wrong_demand.CancelsAll,
        "did not receive the requested element within 1000 ms after another Subscriber had cancelled (rule 3.12)",
    ),
    Case(
        "beyond_spec111_mustSeparateItsSubscribers",
        wrong_demand.SharesItsSubscription,
        "two Subscribers received the same Subscription (rule 3.1)",
    ),
    Case(
        "beyond_spec111_mustSeparateItsSubscribers",
        wrong_demand.SignalsTheFirst,
        "3 elements arrived at a Subscriber that had requested 1, while another Subscriber was subscribed (rule 1.1)",
    ),
    Case(
        "beyond_spec111_mustSeparateItsSubscribers",
        wrong.OneSubscriberOnly,
        f"{OPTIONAL}Unexpected additional subscriber",
        SKIP,
    ),
    Case(
        "beyond_spec302_everyRequestInsideOnSubscribeMustCount",
        wrong_demand.CountsOneRequestInOnSubscribe,
        "the Publisher ignored a request inside on_subscribe (element 2 of 3) within 1000 ms (rule 3.2)",
    ),
    Case(
        "beyond_spec305_cancelMustReturnDuringOnNext",
        wrong_demand.CancelsUnderALock,
        "cancel did not return within 1000 ms while another thread was inside on_next (rule 3.5)",
    ),
    Case(
        "beyond_spec313_mustDropTheSubscriberAfterOnError",
        wrong_demand.KeepsAfterError,
        "did not release the Subscriber after on_error (rules 1.6, 3.13)",
    ),
    Case(
        "beyond_spec313_mustDropASubscriberThatCancelsFirst",
        wrong_demand.KeepsUntilRequested,
        "did not release the Subscriber after a cancel before any request (rule 3.13)",
    ),
    Case(
        "beyond_spec317_demandAboveTheMaximumMustNotStall",
        wrong_demand.WrapsDemand,
        "after a demand above 2**63 - 1 inside on_next within 1000 ms (rule 3.17)",
    ),
]

FAILED_CASES = [
    Case(
        "beyond_spec104_mustSignalAnException",
        wrong_demand.FailsWithNone,
        "on_error(None): the argument is not an exception",
    ),
    Case(
        "beyond_spec104_mustSignalAnException",
        wrong_demand.FailsWithText,
        "on_error('no connection'): the argument is not an exception (rules 1.4, 2.13)",
    ),
    Case(FAILS, wrong.Raises, "the Publisher raised (It is not valid to raise here!) instead of signalling on_error"),
    Case(FAILS, wrong.Silent, "did not call on_error within 1000 ms"),
    Case(FAILS, wrong.FailsWithoutSubscription, "on_error was called before on_subscribe (rule 1.9)"),
    Case(FAILS, wrong.FailsTwice, "called on_error twice"),
    Case(FAILS, lambda: None, "the test needs a failed Publisher", SKIP),
    Case(REJECT, wrong.Silent, "did not call on_error within 1000 ms"),
    Case(REJECT, wrong.FailsTwice, "called on_error twice"),
    Case(REJECT, wrong.FailsWithoutSubscription, "on_error was called before on_subscribe (rule 1.9)"),
    Case(REJECT, lambda: None, "the test needs a failed Publisher", SKIP),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_wrong_publisher_fails(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    # On a loaded machine, longer signals still overlap, and a longer run still reaches the violation.
    monkeypatch.setattr(races, "_SIGNAL_DURATION", 0.1)
    monkeypatch.setattr(beyond_publisher, "_SECONDS_OF_A_LARGE_DEMAND", 60.0)
    monkeypatch.setattr(beyond_subscription, "_SECONDS_OF_A_LONG_RUN", 60.0)
    assert_verdict(judge_publisher(case), case)


@pytest.mark.parametrize("case", FAILED_CASES, ids=str)
def test_a_wrong_failed_publisher_fails(case: Case) -> None:
    assert_verdict(judge_failed_publisher(case), case)


def test_every_test_rejects_some_publisher() -> None:
    others = (*test_false_passes.CASES, *test_false_passes.FAILED_CASES, *wrong_counting.COUNTING, *FOR_LONG)
    rejecting = {case.test for case in (*CASES, *FAILED_CASES, *others)}
    runnable = {name for name in PublisherVerification.test_names() if PUBLISHER.get(name) is not Kind.UNTESTED}
    assert runnable - rejecting == set()
    assert rejecting - runnable == set()


def test_the_right_publisher_passes_everything() -> None:
    class Right(PublisherVerification[Any]):
        environment = PATIENT

        def create_publisher(self, elements: int) -> Any:
            return RightPublisher(elements)

        def create_failed_publisher(self) -> Any:
            return RightFailedPublisher()

    report = verify(Right)
    assert [(v.name, v.reason) for v in report.verdicts if v.status not in (Status.PASSED, Status.UNTESTED)] == []
    assert report.passed
    assert report.count(Status.PASSED) == 31
    assert report.count(Status.UNTESTED) == 7


# Implementations that must pass, from the tests of the official TCK.


@pytest.mark.parametrize(
    "test", ["optional_spec111_maySupportMultiSubscribe", FIRST, "required_spec307_afterSubscriptionIsCancelled"]
)
def test_a_silent_publisher_passes_tests_that_request_nothing(test: str) -> None:
    name = next(name for name in PUBLISHER if name.startswith(test))
    assert judge_publisher(Case(name, wrong.Silent, "")).status is Status.PASSED


def test_on_complete_after_on_subscribe_is_an_empty_stream() -> None:
    class Completes(wrong.Plain):
        def subscribe(self, subscriber: Any, /) -> None:
            subscriber.on_subscribe(Inert())
            subscriber.on_complete()

    assert judge_publisher(Case(EMPTY, Completes, "", hooks={"max_elements_from_publisher": 0})).status is Status.PASSED


def test_the_error_message_for_request_zero_is_not_checked() -> None:
    assert judge_publisher(Case(ZERO, wrong.SaysNothingOfTheRule, "")).status is Status.PASSED


def test_demand_above_the_maximum_is_cancelled_after_eleven_elements() -> None:
    sent = 0

    class GoesOn(wrong.Plain):
        class subscription(wrong.Bare):  # noqa: N801
            started = cancelled = False

            def request(self, n: int, /) -> None:
                nonlocal sent
                if not self.started:
                    self.started = True
                    while not self.cancelled:
                        sent += 1
                        self.subscriber.on_next(sent)

            def cancel(self) -> None:
                self.cancelled = True

    name = "required_spec317_mustNotSignalOnErrorWhenPendingAboveLongMaxValue"
    assert judge_publisher(Case(name, GoesOn, "")).status is Status.PASSED
    assert sent == 11


def test_consecutive_elements_do_not_count_as_recursion() -> None:
    class FiveForOne(wrong.Plain):
        """Emits five elements for one request."""

        class subscription(wrong.Bare):  # noqa: N801
            started = False

            def request(self, n: int, /) -> None:
                if not self.started:
                    self.started = True
                    for _ in range(5):
                        self.subscriber.on_next(0)

    assert (
        judge_publisher(Case("required_spec303_mustNotAllowUnboundedRecursion", FiveForOne, "")).status is Status.PASSED
    )


@pytest.mark.parametrize("test", [EMPTY, REGISTERED])
def test_system_exit_in_an_optional_test_is_a_skip(test: str) -> None:
    class Leaves(RightPublisher):
        def subscribe(self, subscriber: Any, /) -> None:
            raise SystemExit(3)

    verdict = judge_publisher(Case(test, Leaves, ""))
    assert (verdict.status, verdict.reason) == (Status.SKIPPED, f"{OPTIONAL}3")


# Tests that do not apply to a Publisher are skipped with a reason.


def test_a_test_that_needs_more_elements_than_available_is_skipped() -> None:
    verdict = judge_publisher(Case(RIGHT_NUMBER, RightPublisher, "", hooks={"max_elements_from_publisher": 1}))
    assert verdict.status is Status.SKIPPED
    assert verdict.reason == "the test needs 5 elements, but the Publisher has at most 1"


def test_a_test_that_needs_on_complete_is_skipped_for_an_endless_stream() -> None:
    verdict = judge_publisher(Case(COMPLETES, RightPublisher, "", hooks={"max_elements_from_publisher": 2**63 - 1}))
    assert verdict.status is Status.SKIPPED
    assert "the stream never completes" in verdict.reason


@pytest.mark.parametrize("name", [name for name, kind in PUBLISHER.items() if kind is Kind.UNTESTED])
def test_an_untested_test_names_the_reason(name: str) -> None:
    verdict = judge_publisher(Case(name, wrong.Raises, ""))
    assert verdict.status is Status.UNTESTED
    assert verdict.reason.startswith("not verified by the official TCK: ")


IN_ON_NEXT = "required_spec302_mustAllowSynchronousRequestCallsFromOnNextAndOnSubscribe"


def test_a_publisher_with_a_thread_for_each_request_is_stopped() -> None:
    before = set(threading.enumerate())
    judge_publisher(Case(IN_ON_NEXT, wrong.IgnoresDemandOnThread, ""))
    eventually(lambda: not emitting_since(before), "its threads do not end")


def emitting_since(before: set[threading.Thread]) -> list[threading.Thread]:
    return [thread for thread in set(threading.enumerate()) - before if thread.name.endswith("(run)")]


def test_requests_inside_on_next_are_bounded() -> None:
    """A Publisher that starts a thread for each request would otherwise start threads until the timeout."""
    requests: list[int] = []

    class Counts(wrong.Plain):
        class subscription(wrong.IgnoresDemandOnThread.subscription):  # noqa: N801
            def request(self, n: int, /) -> None:
                requests.append(n)
                if len(requests) < 1_000:
                    super().request(n)

    before = set(threading.enumerate())
    judge_publisher(Case(IN_ON_NEXT, Counts, ""))
    eventually(lambda: not emitting_since(before), "its threads do not end")
    assert 6 <= len(requests) < 200


def test_a_publisher_that_multiplies_its_threads_is_stopped() -> None:
    before = threading.active_count()
    name = "required_spec317_mustNotSignalOnErrorWhenPendingAboveLongMaxValue"
    verdict = judge_publisher(Case(name, wrong_demand.StartsThreads, ""))
    assert verdict.status is Status.FAILED
    assert verdict.reason == "on_next was called on 17 threads at the same time (rule 1.3)"
    eventually(lambda: threading.active_count() <= before + 1, "its threads do not end")


def test_a_test_that_starts_too_many_threads_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "_MAX_THREADS", 5)
    ended = threading.Event()

    class Starts(RightPublisher):
        def subscribe(self, subscriber: Any, /) -> None:
            threading.Thread(target=self.start_threads, daemon=True).start()
            ended.wait(60)

        def start_threads(self) -> None:
            for _ in range(20):
                threading.Thread(target=ended.wait, args=(60,), daemon=True).start()

    verdict = judge_publisher(Case(COMPLETES, Starts, ""))
    ended.set()
    assert verdict.status is Status.FAILED
    assert verdict.reason == "the code under test started more than 5 threads"


def test_an_element_that_is_none_fails() -> None:
    class EmitsNone(RightPublisher):
        class subscription(RightSubscription):  # noqa: N801
            def emit(self, subscriber: Any) -> None:
                self.sent += 1
                subscriber.on_next(None)

    verdict = judge_publisher(Case(COMPLETES, EmitsNone, ""))
    assert verdict.status is Status.FAILED
    assert "on_next(None)" in verdict.reason


def test_a_verdict_shows_the_frames_of_the_publisher() -> None:
    verdict = judge_publisher(Case(LESS, wrong.IgnoresDemand, ""))
    assert "wrong_publishers.py" in verdict.details
    assert "in request" in verdict.details
    assert "pyrs/tck" not in verdict.details


def test_judge_accepts_an_object_of_a_verification() -> None:
    class Right(PublisherVerification[Any]):
        environment = PATIENT

        def create_publisher(self, elements: int) -> Any:
            return RightPublisher(elements)

    assert judge(Right(), LESS).status is Status.PASSED


def test_a_slow_publisher_need_not_emit_a_large_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,500 elements at 5 ms each exceed the deadline."""
    monkeypatch.setattr(beyond_publisher, "_SECONDS_OF_A_LARGE_DEMAND", 0.1)

    class Slow(PublisherVerification[Any]):
        environment = TestEnvironment(timeout=1, no_signals_timeout=0.02, deadline=5)

        def create_publisher(self, elements: int) -> Any:
            return unusual.EveryFiveMilliseconds(elements)

    verdict = judge(Slow, "beyond_spec101_mustNotExceedALargeDemand")
    assert (verdict.status, verdict.reason) == (Status.PASSED, "")
