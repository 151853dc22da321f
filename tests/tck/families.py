"""Families of faulty Publishers: one fault of a Subscription, with elements emitted on the caller's or a new thread."""

from __future__ import annotations

from typing import Any, NamedTuple

from pyrs.tck import Status
from tests.tck.judging import Case
from tests.tck.right import RightPublisher, RightSubscription, ThreadedSubscription

__all__ = ["Family", "at_element"]

RIGHT_NUMBER = "required_spec101_subscriptionRequestMustResultInTheCorrectNumberOfProducedElements"
LESS = "required_spec102_maySignalLessThanRequestedAndTerminateSubscription"
COMPLETES = "required_spec105_mustSignalOnCompleteWhenFiniteStreamTerminates"
NO_MORE = "required_spec107_mustNotEmitFurtherSignalsOnceOnCompleteHasBeenSignalled"
NULL = "required_spec109_subscribeThrowNPEOnNullSubscriber"
FIRST = "required_spec109_mustIssueOnSubscribeForNonNullSubscriber"
NESTED = "required_spec303_mustNotAllowUnboundedRecursion"
AFTER_CANCEL = "required_spec306_afterSubscriptionIsCancelledRequestMustBeNops"
AFTER_CANCEL_BETWEEN = "beyond_spec306_requestAfterCancelMustHaveNoEffectBetweenElements"
CANCEL_AGAIN = "required_spec307_afterSubscriptionIsCancelledAdditionalCancelationsMustBeNops"
ZERO = "required_spec309_requestZeroMustSignalIllegalArgumentException"
NEGATIVE = "required_spec309_requestNegativeNumberMustSignalIllegalArgumentException"
STOPS = "required_spec312_cancelMustMakeThePublisherToEventuallyStopSignaling"
DROPS = "required_spec313_cancelMustMakeThePublisherEventuallyDropAllReferencesToTheSubscriber"
UP_TO_MAX = "required_spec317_mustSupportAPendingElementCountUpToLongMaxValue"
CUMULATIVE = "required_spec317_mustSupportACumulativePendingElementCountUpToLongMaxValue"
ABOVE_MAX = "required_spec317_mustNotSignalOnErrorWhenPendingAboveLongMaxValue"
LARGE = "beyond_spec101_mustNotExceedALargeDemand"
AFTER_COMPLETE = "beyond_spec106_mustTreatTheSubscriptionAsCancelledAfterOnComplete"
AFTER_ERROR = "beyond_spec106_mustTreatTheSubscriptionAsCancelledAfterOnError"
DROPS_AFTER_COMPLETE = "beyond_spec106_mustDropTheSubscriberAfterOnComplete"
CANCEL_INSIDE = "beyond_spec108_mustStopWhenCancelledInsideOnNext"
EVERY = "beyond_spec110_mustAnswerEverySubscriberWithOnSubscribeOnce"
SEPARATE = "beyond_spec111_mustSeparateItsSubscribers"
FLAT = "beyond_spec303_mustStayFlatThroughAMillionRequestsInsideOnNext"
CANCEL_IN_TIME = "beyond_spec305_cancelMustReturnInTime"
CANCEL_SAFE = "beyond_spec305_cancelMustBeThreadSafe"
DROPS_EARLY = "beyond_spec313_mustDropASubscriberThatCancelsFirst"
CANCEL_NORMALLY = "beyond_spec315_cancelMustReturnNormally"
REQUEST_NORMALLY = "beyond_spec316_requestMustReturnNormally"
ABOVE = "beyond_spec317_demandAboveTheMaximumMustNotStall"

Methods = type[RightSubscription]


class Family(NamedTuple):
    """Publishers with the same fault, which emit on different threads.

    Attributes:
        name: the name of the class.
        fault: the description of the fault.
        methods: the Subscription with the fault.
        test: the test that rejects the Publishers.
        message: a part of the reason for the rejection.
        threaded: whether the same test also rejects a Publisher with this fault that emits on its own thread.
    """

    name: str
    fault: str
    methods: Methods
    test: str
    message: str
    threaded: bool = True

    def cases(self) -> list[Case]:
        """Return a case for each kind of Publisher."""
        cases = [self._case(self.name, self.fault, self.methods)]
        if self.threaded:
            methods: Any = type("subscription", (self.methods, ThreadedSubscription), {})
            cases.append(self._case(f"{self.name}OnAThread", f"{self.fault}; emits on its own thread", methods))
        return cases

    def _case(self, name: str, fault: str, methods: Methods) -> Case:
        publisher: Any = type(
            name, (RightPublisher,), {"__doc__": f"{fault}.", "__module__": __name__, "subscription": methods}
        )
        return Case(self.test, publisher, self.message, Status.FAILED)


def at_element(template: type[Any], at: int) -> Methods:
    """Return a subclass of ``template`` whose fault depends on ``at``, the number of an element."""
    methods: Any = type("subscription", (template,), {"at": at})
    return methods  # type: ignore[no-any-return]
