"""The names and kinds of the tests of the official TCK 1.0.4.

A test suite in which no test runs would pass. Therefore every run is compared with these tables, and fails if it
differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType


class Kind(Enum):
    """The meaning of a test's failure."""

    REQUIRED = "required"
    """The implementation violates a rule."""
    OPTIONAL = "optional"
    """The implementation lacks an optional feature: the test is skipped with the reason."""
    STOCHASTIC = "stochastic"
    """The implementation violates a rule. A passed test does not prove the opposite."""
    UNTESTED = "untested"
    """The test has no body in the official TCK."""
    BEYOND = "beyond"
    """The implementation violates a rule in a way that the official TCK does not test."""


def kind_of(name: str) -> Kind:
    """Return the kind that a test's name begins with, else REQUIRED."""
    prefix = name.partition("_")[0]
    return Kind(prefix) if prefix in {kind.value for kind in Kind} else Kind.REQUIRED


def _table(names: str) -> Mapping[str, Kind]:
    return MappingProxyType({name: kind_of(name) for name in names.split()})


PUBLISHER = _table(
    """
    required_createPublisher1MustProduceAStreamOfExactly1Element
    required_createPublisher3MustProduceAStreamOfExactly3Elements
    required_validate_maxElementsFromPublisher
    required_validate_boundedDepthOfOnNextAndRequestRecursion
    required_spec101_subscriptionRequestMustResultInTheCorrectNumberOfProducedElements
    required_spec102_maySignalLessThanRequestedAndTerminateSubscription
    stochastic_spec103_mustSignalOnMethodsSequentially
    optional_spec104_mustSignalOnErrorWhenFails
    required_spec105_mustSignalOnCompleteWhenFiniteStreamTerminates
    optional_spec105_emptyStreamMustTerminateBySignallingOnComplete
    untested_spec106_mustConsiderSubscriptionCancelledAfterOnErrorOrOnCompleteHasBeenCalled
    required_spec107_mustNotEmitFurtherSignalsOnceOnCompleteHasBeenSignalled
    untested_spec107_mustNotEmitFurtherSignalsOnceOnErrorHasBeenSignalled
    untested_spec108_possiblyCanceledSubscriptionShouldNotReceiveOnErrorOrOnCompleteSignals
    untested_spec109_subscribeShouldNotThrowNonFatalThrowable
    required_spec109_subscribeThrowNPEOnNullSubscriber
    required_spec109_mustIssueOnSubscribeForNonNullSubscriber
    required_spec109_mayRejectCallsToSubscribeIfPublisherIsUnableOrUnwillingToServeThemRejectionMustTriggerOnErrorAfterOnSubscribe
    untested_spec110_rejectASubscriptionRequestIfTheSameSubscriberSubscribesTwice
    optional_spec111_maySupportMultiSubscribe
    optional_spec111_registeredSubscribersMustReceiveOnNextOrOnCompleteSignals
    optional_spec111_multicast_mustProduceTheSameElementsInTheSameSequenceToAllOfItsSubscribersWhenRequestingOneByOne
    optional_spec111_multicast_mustProduceTheSameElementsInTheSameSequenceToAllOfItsSubscribersWhenRequestingManyUpfront
    optional_spec111_multicast_mustProduceTheSameElementsInTheSameSequenceToAllOfItsSubscribersWhenRequestingManyUpfrontAndCompleteAsExpected
    required_spec302_mustAllowSynchronousRequestCallsFromOnNextAndOnSubscribe
    required_spec303_mustNotAllowUnboundedRecursion
    untested_spec304_requestShouldNotPerformHeavyComputations
    untested_spec305_cancelMustNotSynchronouslyPerformHeavyComputation
    required_spec306_afterSubscriptionIsCancelledRequestMustBeNops
    required_spec307_afterSubscriptionIsCancelledAdditionalCancelationsMustBeNops
    required_spec309_requestZeroMustSignalIllegalArgumentException
    required_spec309_requestNegativeNumberMustSignalIllegalArgumentException
    optional_spec309_requestNegativeNumberMaySignalIllegalArgumentExceptionWithSpecificMessage
    required_spec312_cancelMustMakeThePublisherToEventuallyStopSignaling
    required_spec313_cancelMustMakeThePublisherEventuallyDropAllReferencesToTheSubscriber
    required_spec317_mustSupportAPendingElementCountUpToLongMaxValue
    required_spec317_mustSupportACumulativePendingElementCountUpToLongMaxValue
    required_spec317_mustNotSignalOnErrorWhenPendingAboveLongMaxValue
    """
)

WHITEBOX = _table(
    """
    required_exerciseWhiteboxHappyPath
    required_spec201_mustSignalDemandViaSubscriptionRequest
    untested_spec202_shouldAsynchronouslyDispatch
    required_spec203_mustNotCallMethodsOnSubscriptionOrPublisherInOnComplete
    required_spec203_mustNotCallMethodsOnSubscriptionOrPublisherInOnError
    untested_spec204_mustConsiderTheSubscriptionAsCancelledInAfterRecievingOnCompleteOrOnError
    required_spec205_mustCallSubscriptionCancelIfItAlreadyHasAnSubscriptionAndReceivesAnotherOnSubscribeSignal
    untested_spec206_mustCallSubscriptionCancelIfItIsNoLongerValid
    untested_spec207_mustEnsureAllCallsOnItsSubscriptionTakePlaceFromTheSameThreadOrTakeCareOfSynchronization
    required_spec208_mustBePreparedToReceiveOnNextSignalsAfterHavingCalledSubscriptionCancel
    required_spec209_mustBePreparedToReceiveAnOnCompleteSignalWithPrecedingRequestCall
    required_spec209_mustBePreparedToReceiveAnOnCompleteSignalWithoutPrecedingRequestCall
    required_spec210_mustBePreparedToReceiveAnOnErrorSignalWithPrecedingRequestCall
    required_spec210_mustBePreparedToReceiveAnOnErrorSignalWithoutPrecedingRequestCall
    untested_spec211_mustMakeSureThatAllCallsOnItsMethodsHappenBeforeTheProcessingOfTheRespectiveEvents
    untested_spec212_mustNotCallOnSubscribeMoreThanOnceBasedOnObjectEquality_specViolation
    untested_spec213_failingOnSignalInvocation
    required_spec213_onSubscribe_mustThrowNullPointerExceptionWhenParametersAreNull
    required_spec213_onNext_mustThrowNullPointerExceptionWhenParametersAreNull
    required_spec213_onError_mustThrowNullPointerExceptionWhenParametersAreNull
    untested_spec301_mustNotBeCalledOutsideSubscriberContext
    required_spec308_requestMustRegisterGivenNumberElementsToBeProduced
    untested_spec310_requestMaySynchronouslyCallOnNextOnSubscriber
    untested_spec311_requestMaySynchronouslyCallOnCompleteOrOnError
    untested_spec314_cancelMayCauseThePublisherToShutdownIfNoOtherSubscriptionExists
    untested_spec315_cancelMustNotThrowExceptionAndMustSignalOnError
    untested_spec316_requestMustNotThrowExceptionAndMustOnErrorTheSubscriber
    """
)

BLACKBOX = _table(
    """
    required_spec201_blackbox_mustSignalDemandViaSubscriptionRequest
    untested_spec202_blackbox_shouldAsynchronouslyDispatch
    required_spec203_blackbox_mustNotCallMethodsOnSubscriptionOrPublisherInOnComplete
    required_spec203_blackbox_mustNotCallMethodsOnSubscriptionOrPublisherInOnError
    untested_spec204_blackbox_mustConsiderTheSubscriptionAsCancelledInAfterRecievingOnCompleteOrOnError
    required_spec205_blackbox_mustCallSubscriptionCancelIfItAlreadyHasAnSubscriptionAndReceivesAnotherOnSubscribeSignal
    untested_spec206_blackbox_mustCallSubscriptionCancelIfItIsNoLongerValid
    untested_spec207_blackbox_mustEnsureAllCallsOnItsSubscriptionTakePlaceFromTheSameThreadOrTakeCareOfSynchronization
    untested_spec208_blackbox_mustBePreparedToReceiveOnNextSignalsAfterHavingCalledSubscriptionCancel
    required_spec209_blackbox_mustBePreparedToReceiveAnOnCompleteSignalWithPrecedingRequestCall
    required_spec209_blackbox_mustBePreparedToReceiveAnOnCompleteSignalWithoutPrecedingRequestCall
    required_spec210_blackbox_mustBePreparedToReceiveAnOnErrorSignalWithPrecedingRequestCall
    required_spec210_blackbox_mustBePreparedToReceiveAnOnErrorSignalWithoutPrecedingRequestCall
    untested_spec211_blackbox_mustMakeSureThatAllCallsOnItsMethodsHappenBeforeTheProcessingOfTheRespectiveEvents
    untested_spec212_blackbox_mustNotCallOnSubscribeMoreThanOnceBasedOnObjectEquality
    untested_spec213_blackbox_failingOnSignalInvocation
    required_spec213_blackbox_onSubscribe_mustThrowNullPointerExceptionWhenParametersAreNull
    required_spec213_blackbox_onNext_mustThrowNullPointerExceptionWhenParametersAreNull
    required_spec213_blackbox_onError_mustThrowNullPointerExceptionWhenParametersAreNull
    untested_spec301_blackbox_mustNotBeCalledOutsideSubscriberContext
    untested_spec308_blackbox_requestMustRegisterGivenNumberElementsToBeProduced
    untested_spec310_blackbox_requestMaySynchronouslyCallOnNextOnSubscriber
    untested_spec311_blackbox_requestMaySynchronouslyCallOnCompleteOrOnError
    untested_spec314_blackbox_cancelMayCauseThePublisherToShutdownIfNoOtherSubscriptionExists
    untested_spec315_blackbox_cancelMustNotThrowExceptionAndMustSignalOnError
    untested_spec316_blackbox_requestMustNotThrowExceptionAndMustOnErrorTheSubscriber
    """
)

_PROCESSOR_ONLY = _table(
    """
    required_spec104_mustCallOnErrorOnAllItsSubscribersIfItEncountersANonRecoverableError
    mustImmediatelyPassOnOnErrorEventsReceivedFromItsUpstreamToItsDownstream
    required_mustRequestFromUpstreamForElementsThatHaveBeenRequestedLongAgo
    """
)

# A Processor is tested as a Publisher, as a Subscriber, and for its own rules.
PROCESSOR: Mapping[str, Kind] = MappingProxyType({**PUBLISHER, **WHITEBOX, **_PROCESSOR_ONLY})

_SEE = "see beyond_"
_PUBLISHER = f"the rule applies to the Publisher; {_SEE}"
_WHY_UNTESTED = {
    "spec106": "see the beyond_spec106 tests",
    "spec107": f"{_SEE}spec106_mustTreatTheSubscriptionAsCancelledAfterOnError",
    "spec108": "a signal that is in progress may still arrive (§2.8)",
    "spec109": f"{_SEE}spec110",
    "spec110": f"the rule applies to the caller; {_SEE}spec110 for the Publisher's side",
    "spec202": "the rule is a SHOULD about responsiveness",
    "spec204": "see the beyond_spec204 tests",
    "spec206": f"{_SEE}spec206",
    "spec206_blackbox": "the condition is not visible from outside",
    "spec207": f"{_SEE}spec207",
    "spec208_blackbox": "the time of its cancel is not visible from outside",
    "spec211": f"{_SEE}spec211",
    "spec211_blackbox": "the processing is not visible from outside",
    "spec212": f"{_PUBLISHER}spec110",
    "spec213": "an exception of a Subscriber fails the other tests",
    "spec301": f"{_SEE}spec301",
    "spec304": "the rule is a SHOULD and does not define a heavy computation",
    "spec305": f"{_SEE}spec305",
    "spec308_blackbox": "the Subscriber chooses its demand",
    **dict.fromkeys(("spec310", "spec311", "spec314"), "the rule is a MAY for the Publisher"),
    "spec315": f"{_PUBLISHER}spec315",
    "spec316": f"{_PUBLISHER}spec316",
}


def why_untested(name: str) -> str:
    """Return the additional test for an untested test, or why there is none."""
    _, rule, view, *_ = name.split("_")
    return _WHY_UNTESTED.get(f"{rule}_{view}") or _WHY_UNTESTED[rule]
