"""Publishers that the official TCK accepts although they violate a rule; an additional test must reject each."""

from __future__ import annotations

import sys
from itertools import count
from threading import Event, Thread
from typing import Any

import pytest

from pyrs.tck import Status, interleaving
from tests.tck import wrong_concurrency, wrong_demand, wrong_sharing
from tests.tck import wrong_publishers as wrong
from tests.tck.judging import Case, assert_verdict, judge_failed_publisher, judge_publisher
from tests.tck.right import RightPublisher
from tests.tck.wrong_for_long import EMISSION, LOST, LosesTheWakeupOfItsThread

LARGE = "beyond_spec101_mustNotExceedALargeDemand"
INTERLEAVED = "beyond_spec103_mustSignalSeriallyAtEveryInterleaving"
COMPLETES = "beyond_spec103_mustNotCompleteDuringOnNext"
SEPARATE = "beyond_spec111_mustSeparateItsSubscribers"
FLAT = "beyond_spec303_mustStayFlatThroughAMillionRequestsInsideOnNext"
ABOVE = "beyond_spec317_demandAboveTheMaximumMustNotStall"
CANCELLED = "did not receive the requested element within 1000 ms after another Subscriber had cancelled"

CASES = [
    Case(
        COMPLETES,
        wrong_concurrency.CompletesOnAnotherThread,
        "on_complete was called before on_next of the last element",
    ),
    Case(
        "beyond_spec103_mustNotFailDuringOnNext",
        wrong_concurrency.FailsDuringOnNext,
        "called on_error(ValueError('3.9: request(n) needs a positive n')) before pyrs-tck-request had returned from",
    ),
    Case(INTERLEAVED, wrong_concurrency.BusyWithoutALock, "1.3"),
    Case(INTERLEAVED, wrong_concurrency.LosesTheWakeup, "2 threads requested 2 elements, but 1 arrived"),
    Case(INTERLEAVED, wrong_concurrency.LosesAnAddition, "3 threads requested 3 elements, but 2 arrived"),
    Case(INTERLEAVED, wrong.Unguarded, "illegal concurrent access (rule 1.3)"),
    Case(LARGE, wrong_demand.ExceedsAfterAThousandRequests, "1501 elements arrived, but 1500 were requested"),
    Case(SEPARATE, wrong_sharing.CompletesTheOthers, f"{CANCELLED}, but on_complete() (rule 3.12)"),
    Case(SEPARATE, wrong_sharing.FailsTheOthers, f"{CANCELLED}, but on_error(RuntimeError('another Subscriber"),
    Case(SEPARATE, wrong_sharing.DropsTheOthers, f"{CANCELLED} (rule 3.12)"),
    Case(SEPARATE, wrong_sharing.LastCancelsTheEarlier, f"{CANCELLED} (rule 3.12)"),
    Case(
        SEPARATE,
        wrong_sharing.SecondGetsOneMore,
        "2 elements arrived at a Subscriber that had requested 1, while another",
    ),
    Case(SEPARATE, wrong_sharing.FirstFeedsTheOthers, "1 elements arrived at a Subscriber that had requested 0"),
    Case(SEPARATE, wrong_sharing.SecondFeedsTheFirst, "2 elements arrived at a Subscriber that had requested 1"),
    Case(SEPARATE, wrong_sharing.SharesTheDemand, "2 elements arrived at a Subscriber that had requested 1"),
    Case(
        "beyond_spec302_everyRequestInsideOnSubscribeMustCount",
        wrong_demand.CountsTheLastRequestInOnSubscribe,
        "the Publisher ignored a request inside on_subscribe (element 2 of 3) within 1000 ms (rule 3.2)",
    ),
    Case(FLAT, wrong_concurrency.RecursesInItsDrain, "RecursionError: maximum recursion depth exceeded"),
    Case(FLAT, wrong_concurrency.RecursesAfterAHundred, "2 nested on_next calls after 101 elements"),
    Case(
        "beyond_spec305_cancelMustReturnDuringOnNext",
        wrong_concurrency.CancelAwaitsTheSignal,
        "cancel did not return within 1000 ms while another thread was inside on_next (rule 3.5)",
    ),
    Case(
        ABOVE, wrong_demand.WrapsDemandInOnSubscribe, "above 2**63 - 1 inside on_subscribe within 1000 ms (rule 3.17)"
    ),
]
FAILED_CASES = [
    Case(
        "beyond_spec313_failedPublisherMustDropTheSubscriber",
        wrong_demand.FailsAndKeeps,
        "did not release the Subscriber after on_error (rules 1.6, 3.13)",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_wrong_publisher_fails(case: Case) -> None:
    assert_verdict(judge_publisher(case), case)


@pytest.mark.parametrize("case", FAILED_CASES, ids=str)
def test_a_wrong_failed_publisher_fails(case: Case) -> None:
    assert_verdict(judge_failed_publisher(case), case)


# A stochastic test may detect Unguarded, too.
@pytest.mark.parametrize("case", [case for case in CASES if case.make is not wrong.Unguarded], ids=str)
def test_only_an_additional_test_detects_the_violation(case: Case) -> None:
    """The object passes a basic test, so the additional test does not reject it for another fault."""
    name = "required_spec101_subscriptionRequestMustResultInTheCorrectNumberOfProducedElements"
    assert judge_publisher(Case(name, case.make, "")).status.value == "passed"


def test_a_request_that_tracing_prevented_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter may raise an error instead of calling the trace function. The Publisher is not its cause."""
    enter = interleaving._AtLine.enter
    failures = iter([TypeError("not the trace function")])

    def fails_once(self: interleaving._AtLine, *event: Any) -> Any:
        for failure in failures:
            raise failure
        return enter(self, *event)

    monkeypatch.setattr(interleaving._AtLine, "enter", fails_once)
    assert judge_publisher(Case(INTERLEAVED, RightPublisher, "")).status.value == "passed"
    assert list(failures) == []


def test_a_thread_that_stalls_once_does_not_end_the_test() -> None:
    numbers = count()

    class Stalls(LosesTheWakeupOfItsThread):
        class subscription(LosesTheWakeupOfItsThread.subscription):  # noqa: N801
            def __init__(self, subscriber: Any, elements: int) -> None:
                super().__init__(subscriber, elements)
                self.seconds = 0.3 if next(numbers) == 2 else 0.0

            def emit(self, subscriber: Any) -> None:
                super().emit(subscriber)
                Event().wait(self.seconds)

    assert_verdict(judge_publisher(Case(EMISSION, Stalls, LOST)), Case(EMISSION, Stalls, LOST))


def test_a_publisher_whose_thread_has_a_tracer_is_skipped() -> None:
    """A debugger, for example, has set it."""

    class Traced(LosesTheWakeupOfItsThread):
        class subscription(LosesTheWakeupOfItsThread.subscription):  # noqa: N801
            def run(self) -> None:
                sys.settrace(lambda *_: None)
                super().run()

    case = Case(EMISSION, Traced, "the thread is traced already", Status.SKIPPED)
    assert_verdict(judge_publisher(case), case)


def test_stop_of_a_tracer_releases_the_frames_of_its_thread() -> None:
    traces: list[Any] = []

    def trace() -> None:
        at_line = interleaving._AtLine(1_000, lambda: None)
        at_line.trace_callers()
        at_line.stop()
        sys.settrace(None)
        traces.append(sys._getframe().f_trace)

    thread = Thread(target=trace)
    thread.start()
    thread.join(10)
    assert traces == [None]
