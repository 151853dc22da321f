"""The verification of Processors. Source: reactive-streams-tck 1.0.4 (MIT-0), written anew."""

from __future__ import annotations

from typing import Generic, TypeVar

from pyrs.api import Processor, Publisher, Subscriber, Subscription
from pyrs.tck.environment import LONG_MAX, TEST_BUFFER_SIZE, Skipped, TestEnvironment, named, same
from pyrs.tck.expected import PROCESSOR
from pyrs.tck.manual import ManualSubscriber
from pyrs.tck.publisher_verification import PublisherVerification
from pyrs.tck.subscriber_hooks import SIGNALS, ElementSource
from pyrs.tck.subscriber_probes import SubscriberPuppet, WhiteboxProbe
from pyrs.tck.subscriber_verification import SubscriberWhiteboxVerification
from pyrs.tck.waiting import Promise

__all__ = ["IdentityProcessorVerification"]

T = TypeVar("T")

_COORDINATES = (
    "If the Processor waits until all its Subscribers have requested, let does_coordinated_emission() return True"
)


class IdentityProcessorVerification(PublisherVerification[T], SubscriberWhiteboxVerification[T], Generic[T]):
    """Judges a Processor that publishes what it receives: as a Publisher, as a Subscriber, and for what lies between.

    Write a subclass that defines `create_identity_processor` and `create_element`. 68 tests have the names that they
    have in the Java kit; those that begin with ``beyond_`` check rules that the Java kit does not.

    Attributes:
        processor_buffer_size: how many elements the Processor is asked to be able to keep.
    """

    expected = PROCESSOR
    processor_buffer_size = TEST_BUFFER_SIZE

    def create_identity_processor(self, buffer_size: int) -> Processor[T, T]:
        """Make a Processor that publishes what it receives, and can keep this many elements."""
        raise NotImplementedError(f"{type(self).__name__} must define create_identity_processor(buffer_size)")

    def max_supported_subscribers(self) -> int:
        """Say how many Subscribers the Processor can have at a time: tests that need more are skipped."""
        return LONG_MAX

    def does_coordinated_emission(self) -> bool:
        """Say whether the Processor publishes only when all its Subscribers have requested."""
        return False

    def new_processor(self) -> Processor[T, T]:
        """Call `create_identity_processor` and check what it made."""
        size = self.processor_buffer_size
        made: Processor[T, T] = self.made(
            f"create_identity_processor({size})",
            lambda: self.create_identity_processor(size),
            ("subscribe", *SIGNALS),
        )
        return made

    # What the two other verifications ask for.

    def create_publisher(self, elements: int) -> Publisher[T]:
        """Make a Processor that has subscribed to the helper Publisher."""
        processor = self.new_processor()
        self.create_helper_publisher(elements).subscribe(processor)
        return processor

    def create_subscriber(self, probe: WhiteboxProbe[T]) -> Subscriber[T]:
        """Make a Processor that has a Subscriber, which tells the probe what comes through."""
        processor = self.new_processor()
        processor.subscribe(_Downstream(self.env, probe))
        return processor

    # What only a Processor has to do.

    def required_spec104_mustCallOnErrorOnAllItsSubscribersIfItEncountersANonRecoverableError(self) -> None:
        """An error goes to all the Subscribers (1.4)."""
        setup = self._setup(2)
        first, second = self._failing(setup), self._failing(setup)
        coordinated = self.asked(self.does_coordinated_emission)
        first.request(1)
        if coordinated:
            second.request(1)
        setup.expect_request("" if coordinated else _COORDINATES)
        element = setup.signal_next()
        self._expect_element(first, element, "" if coordinated else _COORDINATES)
        if coordinated:
            self._expect_element(second, element)
            second.request(1)
        first.request(1)
        error = RuntimeError("a test's error")
        setup.send_error(error)
        first.expect_this_error(error)
        second.expect_this_error(error)
        self.env.verify_no_async_errors_no_delay()

    def mustImmediatelyPassOnOnErrorEventsReceivedFromItsUpstreamToItsDownstream(self) -> None:
        """An error goes on at once, without a request (4.2)."""
        setup = self._setup(1)
        subscriber = self._failing(setup)
        error = RuntimeError("a test's error")
        setup.send_error(error)
        subscriber.expect_this_error(error)
        self.env.verify_no_async_errors_no_delay()

    def required_mustRequestFromUpstreamForElementsThatHaveBeenRequestedLongAgo(self) -> None:
        """What a Subscriber requested long ago is requested upstream, also when another comes that requests nothing."""
        setup = self._setup(2)
        first = self.new_manual_subscriber(setup.processor)
        first.request(20)
        requested = setup.expect_request()
        self._expect_element(first, setup.signal_next())
        if requested == 1:
            requested += setup.expect_request()
        self._expect_element(first, setup.signal_next())
        if requested == 2:
            requested += setup.expect_request()
        second = self.new_manual_subscriber(setup.processor)
        # The first has 18 requested, the second none.
        if self.asked(self.does_coordinated_emission):
            second.expect_none()
            second.request(1)
            element = setup.signal_next()
            self._expect_element(first, element)
            self._expect_element(second, element)
        else:
            element = setup.signal_next()
            self._expect_element(first, element, _COORDINATES)
            second.expect_none()
            second.request(1)
            self._expect_element(second, element)
        if requested == 3:
            setup.expect_request()
        setup.send_completion()
        first.expect_completion()
        second.expect_completion()
        self.env.verify_no_async_errors_no_delay()

    def _setup(self, subscribers: int) -> _Setup[T]:
        most = self.asked(self.max_supported_subscribers)
        if subscribers > most:
            raise Skipped(f"the test needs {subscribers} Subscribers, and the Processor supports {most}")
        return _Setup(self)

    def _failing(self, setup: _Setup[T]) -> _KeepsError[T]:
        subscriber: _KeepsError[T] = _KeepsError(self.env)
        self.subscribe(setup.processor, subscriber)
        return subscriber

    def _expect_element(self, subscriber: ManualSubscriber[T], expected: T, addendum: str = "") -> None:
        message = f"timeout while awaiting {named(expected)}"
        element = subscriber.next_element(f"{message}. {addendum}" if addendum else message)
        if not same(element, expected):
            self.env.flop(f"received on_next({named(element)}) downstream but expected on_next({named(expected)})")


class _Setup(ElementSource[T]):
    """A Processor between the test's Publisher and the test's Subscribers."""

    def __init__(self, test: IdentityProcessorVerification[T]) -> None:
        super().__init__(test)
        self._seen: list[T] = []
        self.open_source()
        self.processor = test.new_processor()
        self.subscribe(self.processor)

    def next_element(self) -> T:
        element = super().next_element()
        if any(same(element, seen) for seen in self._seen):
            self.env.flop(f"the helper Publisher produced the same element {named(element)} twice")
        self._seen.append(element)
        return element


class _KeepsError(ManualSubscriber[T]):
    """Keeps the error that comes."""

    def __init__(self, env: TestEnvironment) -> None:
        super().__init__(env)
        self._error: Promise[BaseException] = Promise(env)

    def on_error(self, error: BaseException, /) -> None:
        self._error.complete(error)

    def expect_this_error(self, expected: BaseException) -> None:
        """Wait for this error: the object itself, or one that equals it."""
        self._error.expect_completion(self.env.timeout, "did not receive the expected error downstream")
        if self._error.is_completed and self._error.value != expected:
            self.env.flop(f"expected error {expected!r} but got {self._error.value!r}")


class _Downstream(Subscriber[T], Generic[T]):
    """Requests for the puppet, and tells the probe what comes."""

    def __init__(self, env: TestEnvironment, probe: WhiteboxProbe[T]) -> None:
        self._env = env
        self._probe = probe
        self._subscribed = False

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._env.debug(f"downstream: on_subscribe({named(subscription)})")
        if self._subscribed:
            subscription.cancel()
            return
        self._subscribed = True
        self._probe.register_on_subscribe(_DownstreamPuppet(subscription))

    def on_next(self, element: T, /) -> None:
        self._env.debug(f"downstream: on_next({named(element)})")
        self._probe.register_on_next(element)

    def on_error(self, error: BaseException, /) -> None:
        self._env.debug(f"downstream: on_error({error!r})")
        self._probe.register_on_error(error)

    def on_complete(self) -> None:
        self._env.debug("downstream: on_complete()")
        self._probe.register_on_complete()


class _DownstreamPuppet(SubscriberPuppet):
    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription

    def trigger_request(self, elements: int) -> None:
        self._subscription.request(elements)

    def signal_cancel(self) -> None:
        self._subscription.cancel()
