"""The TCK's tests of section 1, from reactive-streams-tck (MIT-0)."""

from __future__ import annotations

from pyrs.api import Publisher, Subscription
from pyrs.tck.environment import Skipped, T, milliseconds, named, quoted
from pyrs.tck.manual import ManualSubscriber, Watching
from pyrs.tck.publisher_hooks import PublisherHooks, failed_publisher_test, publisher_test
from pyrs.tck.waiting import END_OF_STREAM

_ITERATIONS = 100
_ELEMENTS = 10


class PublisherTests(PublisherHooks[T]):
    """The tests of section 1."""

    @publisher_test(1, completes=True)
    def required_createPublisher1MustProduceAStreamOfExactly1Element(self, publisher: Publisher[T]) -> None:
        """``create_publisher(1)`` must publish one element and complete."""
        self._exactly(1, publisher)

    @publisher_test(3, completes=True)
    def required_createPublisher3MustProduceAStreamOfExactly3Elements(self, publisher: Publisher[T]) -> None:
        """``create_publisher(3)`` must publish three elements and complete."""
        self._exactly(3, publisher)

    def _exactly(self, elements: int, publisher: Publisher[T]) -> None:
        name = self.name_of(publisher)
        subscriber = self.new_manual_subscriber(publisher)
        for at in range(elements):
            got = subscriber.request_next_element_or_end_of_stream(f"{name} did not publish the next element")
            if got is END_OF_STREAM:
                raise AssertionError(f"{name} published {at} elements instead of {elements}")
        subscriber.request_end_of_stream()

    def required_validate_maxElementsFromPublisher(self) -> None:
        """The hook must return a valid number."""
        if self.call_number_hook(self.max_elements_from_publisher) < 0:
            raise AssertionError("max_elements_from_publisher must return a number >= 0")

    def required_validate_boundedDepthOfOnNextAndRequestRecursion(self) -> None:
        """The hook must return a valid number."""
        if self.call_number_hook(self.bounded_depth_of_on_next_and_request_recursion) < 1:
            raise AssertionError("bounded_depth_of_on_next_and_request_recursion must return a number >= 1")

    @publisher_test(5)
    def required_spec101_subscriptionRequestMustResultInTheCorrectNumberOfProducedElements(
        self, publisher: Publisher[T]
    ) -> None:
        """A Publisher must not signal more elements than were requested (§1.1)."""
        name = self.name_of(publisher)
        subscriber = self.new_manual_subscriber(publisher)
        with subscriber:
            subscriber.expect_none(f"{name} published an element before the first request (rule 1.1):")
            subscriber.request(1)
            subscriber.next_element(f"{name} published no element after the first request (rule 1.2)")
            subscriber.expect_none(f"{name} published an element that was not requested (rule 1.1):")
            subscriber.request(1)
            subscriber.request(2)
            fewer = "published fewer than 3 elements after request(1) and request(2) (rule 1.2)"
            subscriber.next_elements(3, f"{name} {fewer}")
            subscriber.expect_none(f"{name} published an element that was not requested (rule 1.1):")

    @publisher_test(3, completes=True)
    def required_spec102_maySignalLessThanRequestedAndTerminateSubscription(self, publisher: Publisher[T]) -> None:
        """A Publisher may signal fewer elements than requested and complete (§1.2)."""
        subscriber = self.new_manual_subscriber(publisher)
        subscriber.request(10)
        subscriber.next_elements(3)
        subscriber.expect_completion()

    def stochastic_spec103_mustSignalOnMethodsSequentially(self) -> None:
        """Signals must be serial, in up to a hundred streams (§1.3)."""
        if self.call_number_hook(self.skip_stochastic_tests):
            raise Skipped("skip_stochastic_tests() returned True")
        self.needs(_ELEMENTS, completion=True)
        for iteration in self.env.rounds(_ITERATIONS):
            subscriber = _OneByOne[T](self.env, _ELEMENTS)
            self.call_subscribe(self.new_publisher(_ELEMENTS), subscriber)
            # Each element has the full timeout, and a stream that stalls ends the wait.
            if not subscriber.ends():
                rule = "1.2" if subscriber.elements < _ELEMENTS else "1.5"
                within = milliseconds(self.env.timeout)
                self.env.flop(
                    f"iteration {iteration} of {_ITERATIONS}: expected {_ELEMENTS} elements and on_complete, but "
                    f"received no signal after element {subscriber.elements} {within} (rule {rule})"
                )
            self.env.verify_no_async_errors_no_delay()

    @failed_publisher_test
    def optional_spec104_mustSignalOnErrorWhenFails(self, publisher: Publisher[T]) -> None:
        """A failed Publisher must signal on_error (§1.4).

        Unlike the other optional tests, this one fails if the Publisher does not.
        """
        try:
            self.subscribe_failed(publisher)
            self.env.verify_no_async_errors()
        except AssertionError:
            raise  # a recorded violation
        except Exception as error:
            reason = f"the Publisher raised ({named(error)}) instead of signalling on_error (rule 1.4)"
            raise AssertionError(reason) from error

    @publisher_test(3, completes=True)
    def required_spec105_mustSignalOnCompleteWhenFiniteStreamTerminates(self, publisher: Publisher[T]) -> None:
        """A finite stream must terminate with on_complete (§1.5)."""
        subscriber = self.new_manual_subscriber(publisher)
        for _ in range(3):
            subscriber.request_next_element()
        subscriber.request_end_of_stream()
        subscriber.expect_none()

    @publisher_test(0, completes=True, optional=True)
    def optional_spec105_emptyStreamMustTerminateBySignallingOnComplete(self, publisher: Publisher[T]) -> None:
        """An empty stream should terminate with on_complete (§1.5)."""
        subscriber = self.new_manual_subscriber(publisher)
        subscriber.request(1)
        subscriber.expect_completion()
        subscriber.expect_none()

    @publisher_test(1, completes=True)
    def required_spec107_mustNotEmitFurtherSignalsOnceOnCompleteHasBeenSignalled(self, publisher: Publisher[T]) -> None:
        """After on_complete there must be no further signals (§1.7)."""
        subscriber = self.new_manual_subscriber(publisher)
        subscriber.request(10)
        subscriber.next_element()
        subscriber.expect_completion()
        subscriber.request(10)
        subscriber.expect_none()

    @publisher_test(0)
    def required_spec109_subscribeThrowNPEOnNullSubscriber(self, publisher: Publisher[T]) -> None:
        """``subscribe(None)`` must raise a TypeError or AttributeError (§1.9)."""
        self.must_refuse_none_subscriber(publisher)

    @publisher_test(0)
    def required_spec109_mustIssueOnSubscribeForNonNullSubscriber(self, publisher: Publisher[T]) -> None:
        """The first signal must be on_subscribe (§1.9)."""
        subscriber = Watching[T](self.env)
        try:
            self.subscribe(publisher, subscriber)
        finally:
            if subscriber.subscription.is_closed:
                subscriber.cancel()

    @failed_publisher_test
    def required_spec109_mayRejectCallsToSubscribeIfPublisherIsUnableOrUnwillingToServeThemRejectionMustTriggerOnErrorAfterOnSubscribe(  # noqa: E501
        self, publisher: Publisher[T]
    ) -> None:
        """A rejected Subscriber must receive on_subscribe and then on_error (§1.9)."""
        self.subscribe_failed(publisher)

    @publisher_test(1, optional=True)
    def optional_spec111_maySupportMultiSubscribe(self, publisher: Publisher[T]) -> None:
        """A Publisher may support two Subscribers at the same time."""
        first, second = self._subscribers(publisher, 2)
        with second, first:
            self.env.verify_no_async_errors()

    @publisher_test(1, optional=True)
    def optional_spec111_registeredSubscribersMustReceiveOnNextOrOnCompleteSignals(
        self, publisher: Publisher[T]
    ) -> None:
        """Each of two Subscribers should receive an element or on_complete."""
        first, second = self._subscribers(publisher, 2)
        # The Publisher may be unicast or multicast, so either Subscriber may receive the element.
        first.request_next_element_or_end_of_stream()
        second.request_next_element_or_end_of_stream()
        with second, first:
            self.env.verify_no_async_errors()

    @publisher_test(5, completes=True, optional=True)
    def optional_spec111_multicast_mustProduceTheSameElementsInTheSameSequenceToAllOfItsSubscribersWhenRequestingOneByOne(  # noqa: E501
        self, publisher: Publisher[T]
    ) -> None:
        """Three Subscribers that request in turn should receive the same elements."""
        subscribers = self._subscribers(publisher, 3)
        got: list[list[T]] = [[], [], []]
        # Pairs of a Subscriber and the number of elements that it requests; 0 expects the end.
        turns = ((0, 1), (1, 2), (0, 1), (2, 3), (2, 1), (2, 1), (2, 0), (1, 3), (1, 0), (0, 2), (0, 1), (0, 0))
        for who, count in turns:
            name = f"{self.name_of(publisher)} did not"
            if count:
                subscribers[who].request(count)
                got[who] += subscribers[who].next_elements(
                    count, f"{name} publish the requested {count} elements to Subscriber {who + 1}"
                )
            else:
                subscribers[who].request_end_of_stream(f"{name} signal on_complete to Subscriber {who + 1}")
        self._assert_same(got)

    @publisher_test(3, optional=True)
    def optional_spec111_multicast_mustProduceTheSameElementsInTheSameSequenceToAllOfItsSubscribersWhenRequestingManyUpfront(  # noqa: E501
        self, publisher: Publisher[T]
    ) -> None:
        """Three Subscribers that each request all elements should receive the same ones."""
        self._assert_same(self._many_upfront(self._subscribers(publisher, 3)))

    @publisher_test(3, completes=True, optional=True)
    def optional_spec111_multicast_mustProduceTheSameElementsInTheSameSequenceToAllOfItsSubscribersWhenRequestingManyUpfrontAndCompleteAsExpected(  # noqa: E501
        self, publisher: Publisher[T]
    ) -> None:
        """Three Subscribers that each request all elements should receive the same stream."""
        subscribers = self._subscribers(publisher, 3)
        got = self._many_upfront(subscribers)
        for subscriber in subscribers:
            subscriber.expect_completion()
        self._assert_same(got)

    def _subscribers(self, publisher: Publisher[T], count: int) -> list[ManualSubscriber[T]]:
        return [self.new_manual_subscriber(publisher) for _ in range(count)]

    def _many_upfront(self, subscribers: list[ManualSubscriber[T]]) -> list[list[T]]:
        for subscriber in subscribers:
            subscriber.request(4)  # one element more than there are, because some Publishers complete only on a request
        return [subscriber.next_elements(3) for subscriber in subscribers]

    def _assert_same(self, got: list[list[T]]) -> None:
        for at in range(len(got) - 1):
            if got[at] != got[at + 1]:
                raise AssertionError(
                    f"Subscribers {at + 1} and {at + 2} must receive the same elements in the same order, "
                    f"but received {got[at]} and {got[at + 1]}"
                )


class _OneByOne(Watching[T]):
    """Requests elements one by one and detects concurrent signals."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        with self._guard.during("on_subscribe()"):
            super().on_subscribe(subscription)
            subscription.request(1)

    def on_next(self, element: T, /) -> None:
        with self._guard.during(f"on_next({named(element)})"):
            super().on_next(element)
            # Request one element more, because some Publishers complete only on a request.
            if self.elements <= self._total and self.subscription.is_closed:
                self.request(1)

    def on_error(self, error: BaseException, /) -> None:
        self.env.flop(f"unexpected on_error({quoted(error)})", error)
        super().on_error(error)
