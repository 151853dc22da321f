"""The Java kit's tests of section 1, Publisher. Source: reactive-streams-tck 1.0.4 (MIT-0), written anew."""

from __future__ import annotations

from threading import Lock
from typing import Any, Generic, TypeVar

from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.tck.environment import Skipped, milliseconds, named
from pyrs.tck.manual import ManualSubscriber, UnexpectedSubscriber
from pyrs.tck.publisher_hooks import PublisherHooks
from pyrs.tck.serial import SerialGuard
from pyrs.tck.verification import NULL_ERRORS, untested
from pyrs.tck.waiting import END_OF_STREAM, Latch

__all__ = ["PublisherTests"]

T = TypeVar("T")

_ITERATIONS = 100
_ELEMENTS = 10


class PublisherTests(PublisherHooks[T], Generic[T]):
    """Section 1, as far as elements, ends and errors go; see `MulticastTests` for 1.11."""

    def required_createPublisher1MustProduceAStreamOfExactly1Element(self) -> None:
        """`create_publisher(1)` must publish one element."""
        self._exactly(1)

    def required_createPublisher3MustProduceAStreamOfExactly3Elements(self) -> None:
        """`create_publisher(3)` must publish three elements."""
        self._exactly(3)

    def _exactly(self, elements: int) -> None:
        def body(publisher: Publisher[T]) -> None:
            name = self.name_of(publisher)
            subscriber = self.new_manual_subscriber(publisher)
            for at in range(elements):
                got = subscriber.request_next_element_or_end_of_stream(f"{name} did not produce the next element")
                if got is END_OF_STREAM:
                    raise AssertionError(f"{name} produced only {at} elements where {elements} were asked for")
            subscriber.request_end_of_stream()

        self.active_publisher_test(elements, True, body)

    def required_validate_maxElementsFromPublisher(self) -> None:
        """The hook must be possible."""
        if self.asked(self.max_elements_from_publisher) < 0:
            raise AssertionError("max_elements_from_publisher must return a number >= 0")

    def required_validate_boundedDepthOfOnNextAndRequestRecursion(self) -> None:
        """The hook must be possible."""
        if self.asked(self.bounded_depth_of_on_next_and_request_recursion) < 1:
            raise AssertionError("bounded_depth_of_on_next_and_request_recursion must return a number >= 1")

    def required_spec101_subscriptionRequestMustResultInTheCorrectNumberOfProducedElements(self) -> None:
        """As many elements as were requested, and never one before (1.1)."""

        def body(publisher: Publisher[T]) -> None:
            name = self.name_of(publisher)
            subscriber = self.new_manual_subscriber(publisher)
            try:
                subscriber.expect_none(f"{name} produced a value before the first request:")
                subscriber.request(1)
                subscriber.next_element(f"{name} produced no element after the first request")
                subscriber.expect_none(f"{name} produced what was not requested:")
                subscriber.request(1)
                subscriber.request(2)
                subscriber.next_elements(3, f"{name} produced less than 3 elements after two more requests")
                subscriber.expect_none(f"{name} produced what was not requested:")
            finally:
                subscriber.cancel()

        self.active_publisher_test(5, False, body)

    def required_spec102_maySignalLessThanRequestedAndTerminateSubscription(self) -> None:
        """A stream may end before all that was requested came (1.2)."""

        def body(publisher: Publisher[T]) -> None:
            subscriber = self.new_manual_subscriber(publisher)
            subscriber.request(10)
            subscriber.next_elements(3)
            subscriber.expect_completion()

        self.active_publisher_test(3, True, body)

    def stochastic_spec103_mustSignalOnMethodsSequentially(self) -> None:
        """One signal at a time, in a hundred streams (1.3)."""
        if self.asked(self.skip_stochastic_tests):
            raise Skipped("skip_stochastic_tests() says to leave it out")

        for iteration in range(_ITERATIONS):
            self.env.progress()

            def body(publisher: Publisher[T], iteration: int = iteration) -> None:
                subscriber = _OneByOne(self, _ELEMENTS)
                self.call_subscribe(publisher, subscriber)
                # Every element has its time, and a stream that stands still is not waited for any longer.
                if not subscriber.ended.closes_while(lambda: subscriber.got):
                    self.env.flop(
                        f"in iteration {iteration} of {_ITERATIONS}: expected on_complete after {_ELEMENTS} elements, "
                        f"and nothing came after {subscriber.got} {milliseconds(self.env.timeout)}"
                    )

            self.active_publisher_test(_ELEMENTS, True, body)

    def optional_spec104_mustSignalOnErrorWhenFails(self) -> None:
        """A failed Publisher must call on_error (1.4). A failure here is a failure, as in the Java kit."""

        def body(publisher: Publisher[T]) -> None:
            subscriber: _Failing[T] = _Failing(self, self.name_of(publisher))
            self.call_subscribe(publisher, subscriber)
            subscriber.subscribed.expect_close("should have received on_subscribe")
            subscriber.failed.expect_close(f"failed {self.name_of(publisher)} did not call on_error")
            self.env.verify_no_async_errors()

        try:
            self.failed_publisher_test(body)
        except Skipped:
            raise
        except Exception as error:
            # Also what subscribe() raised: on_error was the way to say it.
            raise AssertionError(f"the Publisher raised ({error}) instead of signalling on_error") from error

    def required_spec105_mustSignalOnCompleteWhenFiniteStreamTerminates(self) -> None:
        """A finite stream must end with on_complete (1.5)."""

        def body(publisher: Publisher[T]) -> None:
            subscriber = self.new_manual_subscriber(publisher)
            for _ in range(3):
                subscriber.request_next_element()
            subscriber.request_end_of_stream()
            subscriber.expect_none()

        self.active_publisher_test(3, True, body)

    def optional_spec105_emptyStreamMustTerminateBySignallingOnComplete(self) -> None:
        """An empty stream ends with on_complete (1.5)."""

        def body(publisher: Publisher[T]) -> None:
            subscriber = self.new_manual_subscriber(publisher)
            subscriber.request(1)
            subscriber.expect_completion()
            subscriber.expect_none()

        self.optional_publisher_test(0, True, body)

    untested_spec106_mustConsiderSubscriptionCancelledAfterOnErrorOrOnCompleteHasBeenCalled = untested(
        "see the beyond_spec106 tests"
    )

    def required_spec107_mustNotEmitFurtherSignalsOnceOnCompleteHasBeenSignalled(self) -> None:
        """After on_complete nothing more may come (1.7)."""

        def body(publisher: Publisher[T]) -> None:
            subscriber = self.new_manual_subscriber(publisher)
            subscriber.request(10)
            subscriber.next_element()
            subscriber.expect_completion()
            subscriber.request(10)
            subscriber.expect_none()

        self.active_publisher_test(1, True, body)

    untested_spec107_mustNotEmitFurtherSignalsOnceOnErrorHasBeenSignalled = untested(
        "see beyond_spec106_mustTreatTheSubscriptionAsCancelledAfterOnError"
    )
    untested_spec108_possiblyCanceledSubscriptionShouldNotReceiveOnErrorOrOnCompleteSignals = untested(
        "a signal that was on its way may still arrive (2.8)"
    )
    untested_spec109_subscribeShouldNotThrowNonFatalThrowable = untested("see beyond_spec110")

    def required_spec109_subscribeThrowNPEOnNullSubscriber(self) -> None:
        """`subscribe(None)` must raise (1.9): a TypeError, or the AttributeError of using None."""

        def body(publisher: Publisher[T]) -> None:
            nobody: Any = None
            try:
                self.call_subscribe(publisher, nobody)
            except NULL_ERRORS:
                pass
            else:
                self.env.flop(f"{self.name_of(publisher)} did not raise when subscribe was given None")
            self.env.verify_no_async_errors_no_delay()

        self.active_publisher_test(0, False, body)

    def required_spec109_mustIssueOnSubscribeForNonNullSubscriber(self) -> None:
        """on_subscribe must come first (1.9)."""

        def body(publisher: Publisher[T]) -> None:
            subscriber: _AfterOnSubscribe[T] = _AfterOnSubscribe(self)
            try:
                self.call_subscribe(publisher, subscriber)
                subscriber.subscribed.expect_close("should have received on_subscribe")
                self.env.verify_no_async_errors_no_delay()
            finally:
                if subscriber.subscription.is_completed:
                    subscriber.cancel()

        self.active_publisher_test(0, False, body)

    def required_spec109_mayRejectCallsToSubscribeIfPublisherIsUnableOrUnwillingToServeThemRejectionMustTriggerOnErrorAfterOnSubscribe(  # noqa: E501
        self,
    ) -> None:
        """A Publisher that rejects a Subscriber must call on_subscribe and then on_error (1.9)."""

        def body(publisher: Publisher[T]) -> None:
            subscriber: _Failing[T] = _Failing(self, self.name_of(publisher))
            self.call_subscribe(publisher, subscriber)
            subscriber.subscribed.expect_close("should have received on_subscribe")
            subscriber.failed.expect_close("should have received on_error")
            self.env.verify_no_async_errors_no_delay()

        self.failed_publisher_test(body)

    untested_spec110_rejectASubscriptionRequestIfTheSameSubscriberSubscribesTwice = untested(
        "the rule is the caller's; see beyond_spec110 for what it leaves to the Publisher"
    )


class _OneByOne(Subscriber[T], Generic[T]):
    """Requests one element after the other, and watches that signals are serial."""

    def __init__(self, test: PublisherTests[T], elements: int) -> None:
        self._env = test.env
        self._elements = elements
        self._guard = SerialGuard(test.env, "1.3")
        self._lock = Lock()
        self.got = 0
        self._subscription: Subscription | None = None
        self.ended = Latch(test.env)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        with self._guard.during("on_subscribe()"):
            self._subscription = subscription
            subscription.request(1)

    def on_next(self, element: T, /) -> None:
        with self._guard.during(f"on_next({named(element)})"):
            with self._lock:
                self.got += 1
                more = self.got <= self._elements  # one more than there are: some Publishers look for the end then
            if self._subscription is None:
                self._env.flop(f"on_next({named(element)}) was called before on_subscribe (rule 1.9)")
            elif more:
                self._subscription.request(1)

    def on_error(self, error: BaseException, /) -> None:
        with self._guard.during(f"on_error({error!r})"):
            self._env.flop(f"unexpected on_error({error!r})", error)
        self.ended.close()

    def on_complete(self) -> None:
        with self._guard.during("on_complete()"):
            pass
        self.ended.close()


class _Failing(UnexpectedSubscriber[T]):
    """Expects on_subscribe and then on_error, each once."""

    def __init__(self, test: PublisherTests[T], name: str) -> None:
        super().__init__(test.env)
        self._name = name
        self.subscribed = Latch(test.env)
        self.failed = Latch(test.env)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.subscribed.assert_open("only one on_subscribe call expected")
        self.subscribed.close()

    def on_error(self, error: BaseException, /) -> None:
        self.subscribed.assert_closed("on_subscribe must be called before on_error always")
        self.failed.assert_open(f"failed {self._name} called on_error twice")
        self.failed.close()


class _AfterOnSubscribe(ManualSubscriber[T]):
    """Expects on_subscribe first, once, and then whatever comes."""

    def __init__(self, test: PublisherTests[T]) -> None:
        super().__init__(test.env)
        self.subscribed = Latch(test.env)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.subscribed.assert_open("only one on_subscribe call expected")
        if not self.subscribed.is_closed:
            self.subscription.complete(subscription)
        self.subscribed.close()

    def on_next(self, element: T, /) -> None:
        self.subscribed.assert_closed("on_subscribe must be called before on_next always")

    def on_error(self, error: BaseException, /) -> None:
        self.subscribed.assert_closed("on_subscribe must be called before on_error always")

    def on_complete(self) -> None:
        self.subscribed.assert_closed("on_subscribe must be called before on_complete always")
