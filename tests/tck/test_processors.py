"""The verification of Processors rejects wrong ones and passes a right one."""

from __future__ import annotations

from collections import deque
from threading import RLock
from typing import Any

import pytest

from pyrs.api import Processor, Subscriber, Subscription
from pyrs.tck import (
    IdentityProcessorVerification,
    PublisherVerification,
    Status,
    SubscriberWhiteboxVerification,
    judge,
    verify,
)
from tests.tck import judging
from tests.tck.judging import PATIENT, Case, Here, Judge, assert_verdict
from tests.tck.right import Columns, Inert, not_none

ALL_SUBSCRIBERS = "required_spec104_mustCallOnErrorOnAllItsSubscribersIfItEncountersANonRecoverableError"
AT_ONCE = "mustImmediatelyPassOnOnErrorEventsReceivedFromItsUpstreamToItsDownstream"
SECOND = "required_spec205_mustCallSubscriptionCancelIfItAlreadyHasAnSubscriptionAndReceivesAnotherOnSubscribeSignal"
LONG_AGO = "required_mustRequestFromUpstreamForElementsThatHaveBeenRequestedLongAgo"


class RightProcessor(Processor[Any, Any]):
    """A multicasting Processor with an unbounded buffer for each Subscriber."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.upstream: Subscription | None = None
        self.branches: list[Branch] = []
        self.end: tuple[BaseException | None] | None = None
        self.wanted = self.requested = 0

    def on_subscribe(self, subscription: Subscription, /) -> None:
        not_none(subscription)
        with self.lock:
            refused = self.upstream is not None or self.end is not None
            if not refused:
                self.upstream = subscription
        if refused:
            subscription.cancel()
        else:
            self.pull()

    def on_next(self, element: Any, /) -> None:
        not_none(element)
        for branch in list(self.branches):
            branch.take(element)

    def on_error(self, error: BaseException, /) -> None:
        self.finish(not_none(error))

    def on_complete(self) -> None:
        self.finish(None)

    def finish(self, error: BaseException | None) -> None:
        self.end, self.upstream = (error,), None
        for branch in list(self.branches):
            branch.finish(self.end)

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        not_none(subscriber)
        branch = Branch(self, subscriber)
        with self.lock:
            self.branches.append(branch)
        branch.start()
        if self.end is not None:
            branch.finish(self.end)

    def want(self, total: int) -> None:
        with self.lock:
            self.wanted = max(self.wanted, total)
        self.pull()

    def pull(self) -> None:
        with self.lock:
            count, upstream = self.wanted - self.requested, self.upstream
            if upstream is None or count <= 0:
                return
            self.requested = self.wanted
        upstream.request(count)

    def left(self, branch: Branch) -> None:
        with self.lock:
            self.branches.remove(branch)
            upstream, self.upstream = (self.upstream, None) if not self.branches else (None, self.upstream)
            if upstream is not None:
                self.end = (None,)
        if upstream is not None:
            upstream.cancel()


class Branch(Subscription):
    def __init__(self, processor: RightProcessor, subscriber: Subscriber[Any]) -> None:
        self.processor = processor
        self.subscriber: Subscriber[Any] | None = subscriber
        self.waiting: deque[Any] = deque()
        self.lock = RLock()
        self.demand = self.total = 0
        self.end: tuple[BaseException | None] | None = None
        self.illegal = False
        self.busy = True

    def start(self) -> None:
        assert self.subscriber is not None
        self.subscriber.on_subscribe(self)
        self.busy = False
        self.drain()

    def request(self, n: int, /) -> None:
        with self.lock:
            if n <= 0:
                self.illegal = True
            else:
                self.demand += n
                self.total = min(2**63 - 1, self.total + n)
        if self.subscriber is not None:
            self.processor.want(self.total)
        self.drain()

    def cancel(self) -> None:
        with self.lock:
            live, self.subscriber = self.subscriber is not None, None
        if live:
            self.processor.left(self)

    def take(self, element: Any) -> None:
        self.waiting.append(element)
        self.drain()

    def finish(self, end: tuple[BaseException | None]) -> None:
        self.end = end
        self.drain()

    def drain(self) -> None:
        while True:
            with self.lock:
                subscriber = self.subscriber
                if self.busy or subscriber is None:
                    return
                error = ValueError("3.9") if self.illegal else self.end[0] if self.end is not None else None
                ended = error is not None or (self.end is not None and not self.waiting)
                if not ended and not (self.waiting and self.demand):
                    return
                if ended:
                    self.subscriber = None
                else:
                    self.demand -= 1
                    element = self.waiting.popleft()
                self.busy = True
            if error is not None:
                subscriber.on_error(error)
            elif ended:
                subscriber.on_complete()
            else:
                subscriber.on_next(element)
            self.busy = False


class _RightVerification(IdentityProcessorVerification[Any]):
    environment = PATIENT
    processor: Any = RightProcessor

    def create_identity_processor(self, buffer_size: int) -> Any:
        return self.processor()

    def create_element(self, n: int) -> Any:
        return n

    def create_failed_publisher(self) -> Any:
        failed = RightProcessor()
        failed.on_error(RuntimeError("failed from the start"))
        return failed


def judged(case: Case, judge: Judge = judge) -> Any:
    attributes = {"processor": staticmethod(case.make), "environment": judging.SHORT}
    hooks = {name: (lambda self, value=value: value) for name, value in case.hooks.items()}
    return judge(type("_Judged", (Here, _RightVerification), {**attributes, **hooks}), case.test)


class TellsOne(RightProcessor):
    """Signals the error to the first Subscriber only."""

    def finish(self, error: BaseException | None) -> None:
        self.branches[0].finish((error,))


class TellsAnother(RightProcessor):
    """Signals another error to its Subscribers instead of the received one."""

    def finish(self, error: BaseException | None) -> None:
        super().finish(RuntimeError("something went wrong"))


class KeepsTheErrorBack(RightProcessor):
    """Signals an error only to Subscribers that have requested."""

    def finish(self, error: BaseException | None) -> None:
        for branch in self.branches:
            if branch.total:
                branch.finish((error,))


class NeverRequests(RightProcessor):
    """Does not request from upstream."""

    def pull(self) -> None:
        pass


class WaitsForAll(RightProcessor):
    """Emits only after all its Subscribers have requested."""

    def want(self, total: int) -> None:
        with self.lock:
            self.wanted = min(branch.total for branch in self.branches)
        self.pull()


class ForgetsOldDemand(RightProcessor):
    """Requests at most two elements upstream."""

    def want(self, total: int) -> None:
        with self.lock:
            self.wanted = min(total, 2)
        self.pull()


class SendsTwice(RightProcessor):
    """Emits each element twice."""

    def on_next(self, element: Any, /) -> None:
        super().on_next(element)
        super().on_next(element)


class Changes(RightProcessor):
    """Emits another element instead of each received one."""

    def on_next(self, element: Any, /) -> None:
        super().on_next(not_none(element) + 100)


class Noop(RightProcessor):
    """Signals on_subscribe and nothing else; from the tests of the official TCK."""

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        subscriber.on_subscribe(Inert())


class NeverRefuses(RightProcessor):
    """Accepts a second Subscription instead of cancelling it."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.upstream = not_none(subscription)
        self.pull()


CASES = [
    Case(ALL_SUBSCRIBERS, TellsOne, "the Processor did not forward the error within 1000 ms (rule 4.2)"),
    Case(ALL_SUBSCRIBERS, TellsAnother, "but received on_error(RuntimeError('something went wrong'))"),
    Case(ALL_SUBSCRIBERS, WaitsForAll, "let does_coordinated_emission() return True"),
    Case(
        ALL_SUBSCRIBERS,
        RightProcessor,
        "the test needs 2 Subscribers, but the Processor supports 1",
        Status.SKIPPED,
        {"max_supported_subscribers": 1},
    ),
    Case(AT_ONCE, KeepsTheErrorBack, "the Processor did not forward the error within 1000 ms (rule 4.2)"),
    Case(AT_ONCE, TellsAnother, "but received on_error(RuntimeError('something went wrong'))"),
    Case(LONG_AGO, NeverRequests, "the Subscriber did not call request()"),
    Case(LONG_AGO, ForgetsOldDemand, "the Subscriber did not call request()"),
    Case(LONG_AGO, SendsTwice, "downstream but received on_next("),
    Case(LONG_AGO, Changes, "expected on_next(0) downstream but received on_next(100)"),
    # One case for each side, so that both are tested.
    Case(SECOND, NeverRefuses, "did not cancel the second Subscription within 1000 ms (rule 2.5)"),
    Case("required_spec105_mustSignalOnCompleteWhenFiniteStreamTerminates", Noop, "the expected element"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_wrong_processor_does_not_pass(case: Case) -> None:
    assert_verdict(judged(case), case)


@pytest.mark.parametrize("test", [ALL_SUBSCRIBERS, LONG_AGO])
def test_coordinated_emission_passes_with_its_hook(test: str) -> None:
    case = Case(test, WaitsForAll, "", hooks={"does_coordinated_emission": True})
    assert judged(case).status is Status.PASSED


class FollowsTheSlowest(RightProcessor):
    """Requests upstream at the pace of its slowest Subscriber, with two elements in advance."""

    def want(self, total: int) -> None:
        with self.lock:
            self.wanted = min(max(self.wanted, total), min(branch.total for branch in self.branches) + 2)
        self.pull()


def test_a_processor_that_slows_down_to_its_slowest_subscriber_passes() -> None:
    case = Case("beyond_spec111_mustSeparateItsSubscribers", FollowsTheSlowest, "")
    verdict = judged(case)
    assert verdict.status is Status.PASSED, verdict.reason


def test_the_right_processor_passes_everything() -> None:
    report = verify(_RightVerification)
    assert [(v.name, v.reason) for v in report.verdicts if v.status not in (Status.PASSED, Status.UNTESTED)] == []
    assert report.passed
    assert report.count(Status.PASSED) == 48
    assert report.count(Status.UNTESTED) == 20


def test_tests_of_the_two_other_verifications_are_inherited_unchanged() -> None:
    """Therefore the wrong Publishers and Subscribers of the other test files cover these tests too."""
    own = {ALL_SUBSCRIBERS, AT_ONCE, LONG_AGO}
    for name in IdentityProcessorVerification.test_names():
        if name not in own:
            owner = PublisherVerification if hasattr(PublisherVerification, name) else SubscriberWhiteboxVerification
            assert getattr(IdentityProcessorVerification, name) is getattr(owner, name)


def test_equal_elements_of_the_helper_publisher_fail() -> None:
    class Repeats(_RightVerification):
        def create_element(self, n: int) -> Any:
            return 7

    verdict = judge(Repeats, LONG_AGO)
    assert "the helper Publisher published the element 7 twice" in verdict.reason


def test_elements_may_be_arrays() -> None:
    class Arrays(_RightVerification):
        def create_element(self, n: int) -> Any:
            return Columns([n])

    verdict = judge(Arrays, LONG_AGO)
    assert verdict.status is Status.PASSED, verdict.reason
