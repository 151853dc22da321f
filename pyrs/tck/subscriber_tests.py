"""The TCK's tests of Subscribers, from reactive-streams-tck (MIT-0)."""

from __future__ import annotations

from pyrs.api import Subscriber
from pyrs.tck.environment import T
from pyrs.tck.subscriber_hooks import SIGNALS, ElementSource, PassiveSubscription, SubscriberHooks, tck_error
from pyrs.tck.subscriber_probes import BlackboxProxy, SubscriberPuppet, WhiteboxProbe
from pyrs.tck.waiting import Promise

_MAX_ELEMENTS = 512  # the largest number of elements to send, for any demand


class BlackboxTests(SubscriberHooks[T]):
    """The tests of sections 2 and 3 that need no access to the Subscriber."""

    def create_subscriber(self) -> Subscriber[T]:
        """Create a Subscriber."""
        raise NotImplementedError(f"{type(self).__name__} must define create_subscriber()")

    def trigger_request(self, subscriber: Subscriber[T]) -> None:
        """Let the Subscriber request an element; does nothing by default."""

    def new_subscriber(self) -> Subscriber[T]:
        """Call ``create_subscriber`` and check its result."""
        return self.call_hook("create_subscriber()", self.create_subscriber, SIGNALS)

    def call_trigger_request(self, subscriber: Subscriber[T]) -> None:
        """Call ``trigger_request`` within the deadline of hooks."""
        self.call_hook("trigger_request()", lambda: self.trigger_request(subscriber), ())

    def stage(self) -> BlackboxStage[T]:
        """Create a Subscriber that has subscribed to the test's Publisher."""
        stage = BlackboxStage(self, self.new_subscriber())
        stage.subscribe(stage.proxy)
        return stage

    def required_spec201_blackbox_mustSignalDemandViaSubscriptionRequest(self) -> None:
        """A Subscriber must request, and accept the requested elements (§2.1).

        The official TCK sends no element, because its loop ends before the first one.
        """
        stage = self.stage()
        self.call_trigger_request(stage.proxy.subscriber)
        requested = stage.expect_request()
        for _ in range(min(requested, _MAX_ELEMENTS)):
            if stage.cancelled.is_closed:
                break
            stage.signal_next()
        stage.sub.on_complete()

    def required_spec203_blackbox_mustNotCallMethodsOnSubscriptionOrPublisherInOnComplete(self) -> None:
        """on_complete must not call the Subscription (§2.3)."""
        self.must_not_call_inside(self.new_subscriber(), "on_complete")

    def required_spec203_blackbox_mustNotCallMethodsOnSubscriptionOrPublisherInOnError(self) -> None:
        """on_error must not call the Subscription (§2.3)."""
        self.must_not_call_inside(self.new_subscriber(), "on_error", tck_error())

    def required_spec205_blackbox_mustCallSubscriptionCancelIfItAlreadyHasAnSubscriptionAndReceivesAnotherOnSubscribeSignal(  # noqa: E501
        self,
    ) -> None:
        """A second Subscription must be cancelled and not used (§2.5)."""
        stage = self.stage()
        self.must_cancel_another(stage.sub)
        stage.sub.on_complete()

    def required_spec209_blackbox_mustBePreparedToReceiveAnOnCompleteSignalWithPrecedingRequestCall(self) -> None:
        """A Subscriber must handle on_complete after a request (§2.9)."""
        stage = self.stage()
        self.call_trigger_request(stage.proxy.subscriber)
        stage.expect_request()
        stage.sub.on_complete()
        stage.proxy.expect_completion()

    def required_spec209_blackbox_mustBePreparedToReceiveAnOnCompleteSignalWithoutPrecedingRequestCall(self) -> None:
        """A Subscriber must handle on_complete before any request (§2.9)."""
        stage = self.stage()
        stage.sub.on_complete()
        stage.proxy.expect_completion()

    def required_spec210_blackbox_mustBePreparedToReceiveAnOnErrorSignalWithPrecedingRequestCall(self) -> None:
        """A Subscriber must handle on_error after a request (§2.10)."""
        stage = self.stage()
        self.call_trigger_request(stage.proxy.subscriber)
        stage.expect_request()
        self._fail(stage)

    def required_spec210_blackbox_mustBePreparedToReceiveAnOnErrorSignalWithoutPrecedingRequestCall(self) -> None:
        """A Subscriber must handle on_error before any request (§2.10)."""
        self._fail(self.stage())

    def required_spec213_blackbox_onSubscribe_mustThrowNullPointerExceptionWhenParametersAreNull(self) -> None:
        """``on_subscribe(None)`` must raise (§2.13)."""
        self.must_refuse_none(self.new_subscriber(), "on_subscribe")

    def required_spec213_blackbox_onNext_mustThrowNullPointerExceptionWhenParametersAreNull(self) -> None:
        """``on_next(None)`` must raise (§2.13)."""
        self.must_refuse_none(self._subscribed(), "on_next")

    def required_spec213_blackbox_onError_mustThrowNullPointerExceptionWhenParametersAreNull(self) -> None:
        """``on_error(None)`` must raise (§2.13)."""
        self.must_refuse_none(self._subscribed(), "on_error")

    def _subscribed(self) -> Subscriber[T]:
        subscriber = self.new_subscriber()
        subscriber.on_subscribe(PassiveSubscription(self.env))
        return subscriber

    def _fail(self, stage: BlackboxStage[T]) -> None:
        error = tck_error()
        stage.sub.on_error(error)
        stage.proxy.expect_error(error)


class BlackboxStage(ElementSource[T]):
    """A Subscriber under test behind a recording proxy."""

    def __init__(self, test: BlackboxTests[T], subscriber: Subscriber[T]) -> None:
        super().__init__(test)
        self.proxy: BlackboxProxy[T] = BlackboxProxy(self.env, subscriber)


class WhiteboxTests(SubscriberHooks[T]):
    """The tests of sections 2 and 3 that control the Subscriber with a puppet."""

    def create_subscriber(self, probe: WhiteboxProbe[T]) -> Subscriber[T]:
        """Create a Subscriber that reports all its signals to the probe.

        on_subscribe calls ``probe.register_on_subscribe(puppet)`` with a ``SubscriberPuppet``; each other signal calls
        the probe's ``register_`` method of the same name.
        """
        raise NotImplementedError(f"{type(self).__name__} must define create_subscriber(probe)")

    def new_subscriber(self, probe: WhiteboxProbe[T]) -> Subscriber[T]:
        """Call ``create_subscriber`` and check its result."""
        return self.call_hook("create_subscriber(probe)", lambda: self.create_subscriber(probe), SIGNALS)

    def stage(self) -> WhiteboxStage[T]:
        """Create a Subscriber that has subscribed and registered its puppet."""
        stage = WhiteboxStage(self)
        stage.subscribe(self.new_subscriber(stage.probe))
        stage.probe.expect_puppet()
        stage.puppet = stage.probe.puppet
        return stage

    def required_exerciseWhiteboxHappyPath(self) -> None:
        """Requests, elements and a cancel must arrive."""
        stage = self.stage()
        stage.puppet.trigger_request(1)
        stage.puppet.trigger_request(1)
        requested = stage.expect_request()
        stage.probe.expect_next(stage.signal_next())
        stage.puppet.trigger_request(1)
        if requested == 1:
            stage.expect_request()
        stage.probe.expect_next(stage.signal_next())
        stage.puppet.signal_cancel()
        stage.expect_cancelling()
        self.env.verify_no_async_errors()

    def required_spec201_mustSignalDemandViaSubscriptionRequest(self) -> None:
        """A Subscriber must signal demand with request (§2.1)."""
        stage = self.stage()
        stage.puppet.trigger_request(1)
        stage.expect_request()
        stage.signal_next()

    def required_spec203_mustNotCallMethodsOnSubscriptionOrPublisherInOnComplete(self) -> None:
        """on_complete must not call the Subscription (§2.3)."""
        self.must_not_call_inside(self._unprobed(), "on_complete")

    def required_spec203_mustNotCallMethodsOnSubscriptionOrPublisherInOnError(self) -> None:
        """on_error must not call the Subscription (§2.3)."""
        self.must_not_call_inside(self._unprobed(), "on_error", tck_error())

    def required_spec205_mustCallSubscriptionCancelIfItAlreadyHasAnSubscriptionAndReceivesAnotherOnSubscribeSignal(
        self,
    ) -> None:
        """A second Subscription must be cancelled (§2.5)."""
        stage = self.stage()
        self.must_cancel_another(stage.sub, refuses_requests=False)  # as in the official TCK; see beyond_spec205
        self.env.verify_no_async_errors()

    def required_spec208_mustBePreparedToReceiveOnNextSignalsAfterHavingCalledSubscriptionCancel(self) -> None:
        """A Subscriber must handle an element that arrives after its cancel (§2.8)."""
        stage = self.stage()
        stage.puppet.trigger_request(1)
        stage.expect_request()
        stage.puppet.signal_cancel()
        stage.expect_cancelling()
        stage.signal_next()
        stage.puppet.trigger_request(1)
        stage.puppet.trigger_request(1)
        self.env.verify_no_async_errors()

    def required_spec209_mustBePreparedToReceiveAnOnCompleteSignalWithPrecedingRequestCall(self) -> None:
        """A Subscriber must handle on_complete after a request (§2.9)."""
        stage = self.stage()
        stage.puppet.trigger_request(1)
        stage.sub.on_complete()
        stage.probe.expect_completion()
        self.env.verify_no_async_errors()

    def required_spec209_mustBePreparedToReceiveAnOnCompleteSignalWithoutPrecedingRequestCall(self) -> None:
        """A Subscriber must handle on_complete before any request (§2.9)."""
        stage = self.stage()
        stage.sub.on_complete()
        stage.probe.expect_completion()
        self.env.verify_no_async_errors()

    def required_spec210_mustBePreparedToReceiveAnOnErrorSignalWithPrecedingRequestCall(self) -> None:
        """A Subscriber must handle on_error after a request (§2.10)."""
        stage = self.stage()
        stage.puppet.trigger_request(1)
        stage.puppet.trigger_request(1)
        self._fail(stage)

    def required_spec210_mustBePreparedToReceiveAnOnErrorSignalWithoutPrecedingRequestCall(self) -> None:
        """A Subscriber must handle on_error before any request (§2.10)."""
        self._fail(self.stage())

    def required_spec213_onSubscribe_mustThrowNullPointerExceptionWhenParametersAreNull(self) -> None:
        """``on_subscribe(None)`` must raise (§2.13)."""
        self.must_refuse_none(self.stage().sub, "on_subscribe")

    def required_spec213_onNext_mustThrowNullPointerExceptionWhenParametersAreNull(self) -> None:
        """``on_next(None)`` must raise (§2.13)."""
        self.must_refuse_none(self.stage().sub, "on_next")

    def required_spec213_onError_mustThrowNullPointerExceptionWhenParametersAreNull(self) -> None:
        """``on_error(None)`` must raise (§2.13)."""
        self.must_refuse_none(self.stage().sub, "on_error")

    def required_spec308_requestMustRegisterGivenNumberElementsToBeProduced(self) -> None:
        """A Subscriber must accept as many elements as it requested (§3.8)."""
        stage = self.stage()
        stage.puppet.trigger_request(2)
        requested = stage.expect_request()
        stage.probe.expect_next(stage.signal_next())
        if requested < 2:  # the Subscriber requests elements one by one
            stage.expect_request()
        stage.probe.expect_next(stage.signal_next())
        stage.probe.expect_none()
        stage.puppet.trigger_request(3)
        self.env.verify_no_async_errors()

    def _unprobed(self) -> Subscriber[T]:
        return self.new_subscriber(WhiteboxProbe(self.env, Promise(self.env)))

    def _fail(self, stage: WhiteboxStage[T]) -> None:
        error = tck_error()
        stage.sub.on_error(error)
        stage.probe.expect_error(error)


class WhiteboxStage(ElementSource[T]):
    """A Subscriber under test with its probe and its puppet."""

    puppet: SubscriberPuppet  # exists from its registration on

    def __init__(self, test: WhiteboxTests[T]) -> None:
        super().__init__(test)
        self.probe: WhiteboxProbe[T] = WhiteboxProbe(self.env, self.subscriber)
