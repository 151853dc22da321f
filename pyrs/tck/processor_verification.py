"""The verification of Processors, from reactive-streams-tck (MIT-0)."""

from __future__ import annotations

from pyrs.api import Processor, Publisher, Subscriber, Subscription
from pyrs.tck.environment import LONG_MAX, TEST_BUFFER_SIZE, Skipped, T, TestEnvironment, named, quoted, same
from pyrs.tck.expected import PROCESSOR
from pyrs.tck.manual import ManualSubscriber, Watching
from pyrs.tck.subscriber_hooks import SIGNALS, ElementSource, tck_error
from pyrs.tck.subscriber_probes import SubscriberPuppet, WhiteboxProbe
from pyrs.tck.trace import RecordedSubscriber
from pyrs.tck.verifications import PublisherVerification, SubscriberWhiteboxVerification
from pyrs.tck.waiting import Promise

_WAITING = 3  # the number of elements that wait for a slow Subscriber
_COORDINATES = (
    "If the Processor emits only after all its Subscribers have requested, let does_coordinated_emission() return True"
)


class IdentityProcessorVerification(PublisherVerification[T], SubscriberWhiteboxVerification[T]):
    """Tests a Processor that publishes its input, as a Publisher and as a Subscriber.

    Define ``create_identity_processor`` and ``create_element`` in a subclass. The 68 tests of the official TCK keep
    their names; the additional tests begin with ``beyond_``.

    Attributes:
        processor_buffer_size: the buffer size that is passed to ``create_identity_processor``.
    """

    expected = PROCESSOR
    processor_buffer_size = TEST_BUFFER_SIZE

    def create_identity_processor(self, buffer_size: int) -> Processor[T, T]:
        """Create a Processor that publishes its input, with a buffer of this size."""
        raise NotImplementedError(f"{type(self).__name__} must define create_identity_processor(buffer_size)")

    def max_supported_subscribers(self) -> int:
        """Return the largest number of Subscribers; tests that need more are skipped."""
        return LONG_MAX

    def does_coordinated_emission(self) -> bool:
        """Return whether the Processor emits only if all Subscribers have requested."""
        return False

    def new_processor(self) -> Processor[T, T]:
        """Call ``create_identity_processor`` and check its result."""
        size = self.processor_buffer_size
        text = f"create_identity_processor({size})"
        return self.call_hook(text, lambda: self.create_identity_processor(size), ("subscribe", *SIGNALS))

    # The hooks of the two other verifications.

    def create_publisher(self, elements: int) -> Publisher[T]:
        """Create a Processor that is subscribed to the helper Publisher."""
        processor = self.new_processor()
        self.create_helper_publisher(elements).subscribe(processor)
        return processor

    def create_subscriber(self, probe: WhiteboxProbe[T]) -> Subscriber[T]:
        """Create a Processor with a Subscriber that reports to the probe."""
        processor = self.new_processor()
        processor.subscribe(RecordedSubscriber(self.env.trace, _Downstream(probe)))
        return processor

    # The tests of Processors only.

    def required_spec104_mustCallOnErrorOnAllItsSubscribersIfItEncountersANonRecoverableError(self) -> None:
        """An error must be signalled to all Subscribers (§1.4)."""
        setup = self._setup(2)
        first, second = self._failing(setup), self._failing(setup)
        coordinated = self.call_number_hook(self.does_coordinated_emission)
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
        error = tck_error()
        setup.sub.on_error(error)
        first.expect_this_error(error)
        second.expect_this_error(error)

    def mustImmediatelyPassOnOnErrorEventsReceivedFromItsUpstreamToItsDownstream(self) -> None:
        """An error must be forwarded immediately, without demand (§4.2)."""
        setup = self._setup(1)
        subscriber = self._failing(setup)
        error = tck_error()
        setup.sub.on_error(error)
        subscriber.expect_this_error(error)

    def required_mustRequestFromUpstreamForElementsThatHaveBeenRequestedLongAgo(self) -> None:
        """Earlier demand must be requested upstream despite an idle new Subscriber."""
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
        # The remaining demand is 18 for the first Subscriber and 0 for the second.
        if self.call_number_hook(self.does_coordinated_emission):
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
        setup.sub.on_complete()
        first.expect_completion()
        second.expect_completion()

    def must_keep_elements_of_a_slow_subscriber(self) -> None:
        """Complete the input while a Subscriber has not requested yet.

        That Subscriber must then receive all elements on request.
        """
        if self.call_number_hook(self.max_supported_subscribers) < 2:
            return
        if self.call_number_hook(self.does_coordinated_emission):
            return
        count = min(_WAITING, self.processor_buffer_size)
        setup = self._setup(2)
        fast = self.subscribe(setup.processor, Watching[T](self.env, count))
        slow = self.subscribe(setup.processor, _Collecting[T](self.env))
        fast.request(count)
        sent: list[T] = []
        demand = 0
        while len(sent) < count:
            if demand == len(sent):
                demand += setup.requests.next_or(0)
            if demand == len(sent):
                return  # the Processor requests at the pace of the slow Subscriber, so it loses nothing
            sent.append(setup.signal_next())
        setup.sub.on_complete()
        slow.request(count)
        completed = slow.ends()
        if slow.error is None and not (completed and len(slow.collected) == count):
            received = ", ".join(map(named, slow.collected)) or "none"
            self.env.flop(
                f"a Subscriber that requested {count} elements after the end of the input received {received} of "
                f"{', '.join(map(named, sent))}{'' if completed else ' and no on_complete'}: a Processor with a buffer "
                f"of {self.processor_buffer_size} must keep the elements for it, and then complete (rule 4.1)"
            )

    def _setup(self, subscribers: int) -> _Setup[T]:
        most = self.call_number_hook(self.max_supported_subscribers)
        if subscribers > most:
            raise Skipped(f"the test needs {subscribers} Subscribers, but the Processor supports {most}")
        return _Setup(self)

    def _failing(self, setup: _Setup[T]) -> _KeepsError[T]:
        subscriber: _KeepsError[T] = _KeepsError(self.env)
        self.subscribe(setup.processor, subscriber)
        return subscriber

    def _expect_element(self, subscriber: ManualSubscriber[T], expected: T, addendum: str = "") -> None:
        message = f"the Processor did not forward {named(expected)}"
        element = subscriber.next_element(f"{message}. {addendum}" if addendum else message)
        if not same(element, expected):
            self.env.flop(f"expected on_next({named(expected)}) downstream but received on_next({named(element)})")


class _Setup(ElementSource[T]):
    """A Processor between the test's Publisher and the test's Subscribers."""

    def __init__(self, test: IdentityProcessorVerification[T]) -> None:
        super().__init__(test)
        self._seen: list[T] = []
        self.processor = test.new_processor()
        self.subscribe(self.processor)

    def next_element(self) -> T:
        element = super().next_element()
        if any(same(element, seen) for seen in self._seen):
            self.env.flop(f"the helper Publisher published the element {named(element)} twice")
        self._seen.append(element)
        return element


class _KeepsError(ManualSubscriber[T]):
    """Records the received error."""

    def __init__(self, env: TestEnvironment) -> None:
        super().__init__(env)
        self._error: Promise[BaseException] = Promise(env)

    def on_error(self, error: BaseException, /) -> None:
        self._error.complete(error)

    def expect_this_error(self, expected: BaseException) -> None:
        """Wait for an error that is or equals the expected one."""
        self._error.expect_close("the Processor did not forward the error (rule 4.2)")
        if self._error.is_closed and self._error.value != expected:
            self.env.flop(
                f"expected on_error({expected!r}) downstream but received on_error({quoted(self._error.value)})"
            )


class _Collecting(Watching[T]):
    """Keeps its elements."""

    def __init__(self, env: TestEnvironment) -> None:
        super().__init__(env)
        self.collected: list[T] = []

    def on_next(self, element: T, /) -> None:
        super().on_next(element)
        self.collected.append(element)


class _Downstream(Subscriber[T]):
    """Reports its signals to the probe, and registers a puppet there."""

    def __init__(self, probe: WhiteboxProbe[T]) -> None:
        self._probe = probe
        self._subscribed = False

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if self._subscribed:
            subscription.cancel()
            return
        self._subscribed = True
        self._probe.register_on_subscribe(_DownstreamPuppet(subscription))

    def on_next(self, element: T, /) -> None:
        self._probe.register_on_next(element)

    def on_error(self, error: BaseException, /) -> None:
        self._probe.register_on_error(error)

    def on_complete(self) -> None:
        self._probe.register_on_complete()


class _DownstreamPuppet(SubscriberPuppet):
    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription

    def trigger_request(self, elements: int) -> None:
        self._subscription.request(elements)

    def signal_cancel(self) -> None:
        self._subscription.cancel()
