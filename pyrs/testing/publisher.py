"""TestPublisher: a Publisher that a test scripts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Condition
from typing import TYPE_CHECKING, Generic, TypeVar

from pyrs._core.downstream import checked_subscriber
from pyrs._core.states import Signal
from pyrs._core.validation import checked_error, checked_timeout
from pyrs.api import Publisher, Subscriber
from pyrs.errors import NullSignal
from pyrs.testing import overlap
from pyrs.testing.subscription import Emission, ScriptedSubscription, Violation, amount

if TYPE_CHECKING:
    from datetime import timedelta

    from pyrs.stream.stream import Stream

T = TypeVar("T")


class TestPublisher(Publisher[T], Generic[T]):
    """Emits the test's signals to any number of Subscribers, on the calling thread.

    It is hot: current Subscribers receive an element, and later Subscribers receive only the terminal signal. With
    ``cold=True`` it keeps all signals and emits them to each Subscriber on demand.

    It obeys all rules that are not in ``violations``. Emitting an element to a Subscriber without demand is an error
    of the test: ``next`` raises AssertionError and emits to no Subscriber. A cold publisher keeps the element (memory
    **grows**).

    Args:
        violations: the rules to violate.
        cold: whether to keep the signals and replay them to each Subscriber.
        timeout: the deadline of each wait, in seconds or as a timedelta.

    Raises:
        TypeError: a violation is not a ``Violation``, or ``timeout`` is neither a number nor a timedelta.
        ValueError: CONCURRENT is combined with ``cold``, or ``timeout`` is negative or not finite.

    Attributes:
        subscribe_count: the number of ``subscribe`` calls.
        cancel_count: the number of cancelled Subscriptions.
        requests: each requested number, in order.

    Rules: 1.1, 1.3, 1.7, 1.8, 1.9, 2.13, 3.3, 3.6, 3.7, 3.8, 3.9, unless a violation is chosen.

    Examples:
        >>> from pyrs.testing import TestSubscriber
        >>> publisher, subscriber = TestPublisher(), TestSubscriber(2)
        >>> publisher.stream().map(str).subscribe(subscriber)
        >>> _ = publisher.assert_min_requested(2).emit(1, 2)
        >>> subscriber.await_complete()
        ['1', '2']
    """

    __test__ = False  # pytest would collect the class because of its name

    def __init__(self, *violations: Violation, cold: bool = False, timeout: float | timedelta = 10.0) -> None:
        for violation in violations:
            if not isinstance(violation, Violation):
                raise TypeError(f"violations must be pyrs.testing.Violation members, not {type(violation).__name__}")
        if cold and Violation.CONCURRENT in violations:
            raise ValueError("CONCURRENT needs a hot TestPublisher: a cold one emits on request")
        self.violations = frozenset(violations)
        self.cold = cold
        self.subscribe_count = 0
        self.cancel_count = 0
        self.requests: list[int] = []
        self._timeout = checked_timeout(timeout, "timeout")
        self._changed = Condition()  # guards the counters of all subscriptions; not held while a Subscriber runs
        self._subscriptions: list[ScriptedSubscription[T]] = []
        self._replayed: list[Emission] = []  # for later Subscribers; if hot, only the terminal signal
        self._ended = False

    def __repr__(self) -> str:
        named = "".join(f", {violation.name}" for violation in sorted(self.violations, key=lambda each: each.name))
        return f"<TestPublisher: {len(self._live())} Subscribers{named}>"

    def stream(self) -> Stream[T]:
        """Return a Stream over this Publisher."""
        from pyrs.stream.stream import Stream

        return Stream(self)

    def subscribe(self, subscriber: Subscriber[T], /) -> None:
        """Emit ``on_subscribe``, then the signals of the test. Rules: 1.9, 1.11."""
        subscription = ScriptedSubscription(checked_subscriber(subscriber), self)
        with self._changed:
            self.subscribe_count += 1
            self._subscriptions.append(subscription)
            subscription.pending.extend(self._replayed)
            self._changed.notify_all()
        subscription.start()

    # Signals

    def next(self, *elements: T | None) -> TestPublisher[T]:
        """Emit the elements, sequentially, to every Subscriber.

        Raises:
            AssertionError: a Subscriber of a hot publisher has no demand, or the stream has terminated. With
                CONCURRENT: the signals did not overlap, because the Subscriber is not one of ``pyrs.testing`` and does
                not call ``hold``.
            NullSignal: an element is None.
        """
        if any(element is None for element in elements) and Violation.ALLOW_NULL not in self.violations:
            raise NullSignal("next(None): use Violation.ALLOW_NULL to emit None")
        emissions = [Emission(Signal.ON_NEXT, element) for element in elements]
        if Violation.CONCURRENT in self.violations and len(emissions) > 1:
            self._overlap(emissions)
        else:
            for emission in emissions:
                self._emit(emission)
        return self

    def error(self, error: BaseException | None) -> TestPublisher[T]:
        """Emit ``on_error`` to every current and later Subscriber.

        Raises:
            AssertionError: the stream has terminated.
            NullSignal: ``error`` is None.
            TypeError: ``error`` is not an exception.
        """
        if error is not None:
            checked_error(error)
        elif Violation.ALLOW_NULL not in self.violations:
            raise NullSignal("error(None): use Violation.ALLOW_NULL to emit None")
        self._emit(Emission(Signal.ON_ERROR, error))
        return self

    def complete(self) -> TestPublisher[T]:
        """Emit ``on_complete`` to every current and later Subscriber.

        Raises:
            AssertionError: the stream has terminated.
        """
        self._emit(Emission(Signal.ON_COMPLETE))
        return self

    def emit(self, *elements: T | None) -> TestPublisher[T]:
        """Emit the elements and then ``on_complete``."""
        return self.next(*elements).complete()

    @staticmethod
    def hold() -> None:
        """Wait for the overlapping signals of CONCURRENT.

        A Subscriber calls this in ``on_next``.
        """
        overlap.hold()

    # Assertions

    def assert_subscribers(self, count: int | None = None) -> TestPublisher[T]:
        """Assert that there are ``count`` current Subscribers; None means at least one."""
        return self._assert_count(len(self._live()), count, "Subscribers")

    def assert_no_subscribers(self) -> TestPublisher[T]:
        """Assert that there is no current Subscriber."""
        return self._assert(not self._live(), "no Subscriber")

    def assert_was_subscribed(self) -> TestPublisher[T]:
        """Assert that there is or was a Subscriber."""
        return self._assert(self.subscribe_count > 0, "a Subscriber, now or before")

    def assert_was_not_subscribed(self) -> TestPublisher[T]:
        """Assert that there never was a Subscriber."""
        return self._assert(self.subscribe_count == 0, "no Subscriber, now or before")

    def assert_cancelled(self, count: int | None = None) -> TestPublisher[T]:
        """Assert that ``count`` Subscriptions were cancelled; None means at least one."""
        return self._assert_count(self.cancel_count, count, "cancelled")

    def assert_not_cancelled(self) -> TestPublisher[T]:
        """Assert that no Subscription was cancelled."""
        return self._assert(self.cancel_count == 0, "none cancelled")

    def assert_was_requested(self) -> TestPublisher[T]:
        """Assert that at least one Subscriber has requested elements."""
        return self._assert(bool(self.requests), "a request")

    def assert_was_not_requested(self) -> TestPublisher[T]:
        """Assert that no Subscriber has requested elements."""
        return self._assert(not self.requests, "no request")

    def assert_min_requested(self, n: int) -> TestPublisher[T]:
        """Assert that each of one or more Subscribers requested at least ``n`` in total."""
        return self._assert(self._all_requested(n), f"at least {amount(n)} requested by each")

    def assert_max_requested(self, n: int) -> TestPublisher[T]:
        """Assert that no Subscriber requested more than ``n`` in total."""
        return self._assert(
            max((subscription.requested for subscription in self._subscriptions), default=0) <= n,
            f"at most {amount(n)} requested by each",
        )

    def assert_request_overflow(self) -> TestPublisher[T]:
        """Assert that an element was emitted to a Subscriber without demand."""
        return self._assert(self._overflowed(), "an element without demand")

    def assert_no_request_overflow(self) -> TestPublisher[T]:
        """Assert that no element was emitted to a Subscriber without demand."""
        return self._assert(not self._overflowed(), "no element without demand")

    def assert_second_cancelled(self) -> TestPublisher[T]:
        """Assert that each second Subscription of TWO_ON_SUBSCRIBE was cancelled (§2.5)."""
        subscriptions = list(self._subscriptions)
        return self._assert(
            bool(subscriptions) and all(subscription.second_cancelled for subscription in subscriptions),
            "the second Subscription of each cancelled",
        )

    def await_subscribers(self, count: int = 1, timeout: float | timedelta | None = None) -> TestPublisher[T]:
        """Wait for ``count`` current Subscribers, up to the deadline."""
        return self._await(lambda: len(self._live()) >= count, f"{count} Subscribers", timeout)

    def await_requested(self, n: int, timeout: float | timedelta | None = None) -> TestPublisher[T]:
        """Wait until each of one or more Subscribers requested ``n`` in total.

        Raises:
            AssertionError: the deadline has passed.
        """
        return self._await(lambda: self._all_requested(n), f"{amount(n)} requested by each", timeout)

    def await_cancelled(self, count: int = 1, timeout: float | timedelta | None = None) -> TestPublisher[T]:
        """Wait for ``count`` cancelled Subscriptions, up to the deadline."""
        return self._await(lambda: self.cancel_count >= count, f"{count} cancelled", timeout)

    # Implementation

    def _live(self) -> list[ScriptedSubscription[T]]:
        return [subscription for subscription in list(self._subscriptions) if not subscription.ended]

    def _all_requested(self, n: int) -> bool:
        subscriptions = list(self._subscriptions)
        return bool(subscriptions) and all(subscription.requested >= n for subscription in subscriptions)

    def _overflowed(self) -> bool:
        return any(subscription.overflowed for subscription in list(self._subscriptions))

    def _emit(self, emission: Emission) -> None:
        for subscription in self._admit(emission):
            subscription.push(emission)

    def _overlap(self, emissions: list[Emission]) -> None:
        for subscription in self._admit(emissions[0], len(emissions)):
            first, *others = (partial(subscription.emit_now, emission) for emission in emissions)

            def emit_others(others: list[partial[None]] = others) -> None:
                for other in others:
                    other()

            if not overlap.overlapping(first, emit_others, self._timeout):
                raise AssertionError(
                    f"the signals to {subscription.name} did not overlap: call hold() of this publisher in its on_next"
                )

    def _admit(self, emission: Emission, count: int = 1) -> list[ScriptedSubscription[T]]:
        """Return the Subscriptions to emit to, after checking the demand of all."""
        with self._changed:
            if self._ended and Violation.CLEANUP_ON_TERMINATE not in self.violations:
                raise AssertionError(
                    f"{emission} after the terminal signal: use Violation.CLEANUP_ON_TERMINATE to emit it"
                )
            subscriptions = [subscription for subscription in self._subscriptions if subscription.accepts_signals]
            terminal = emission.kind is not Signal.ON_NEXT
            if terminal or self.cold:
                self._replayed.append(emission)
            else:
                without = [subscription for subscription in subscriptions if not subscription.has_demand(count)]
                if without:
                    raise AssertionError(
                        f"{emission}: {without[0]} has no demand left: use Violation.REQUEST_OVERFLOW to emit it"
                    )
            self._ended = self._ended or terminal
        return subscriptions

    def _assert_count(self, seen: int, count: int | None, what: str) -> TestPublisher[T]:
        if count is None:
            return self._assert(seen > 0, f"some {what}")
        return self._assert(seen == count, f"{count} {what}")

    def _assert(self, holds: bool, expected: str) -> TestPublisher[T]:
        if not holds:
            raise AssertionError(f"expected {expected}: {self._summary()}")
        return self

    def _await(
        self, condition: Callable[[], bool], expected: str, timeout: float | timedelta | None
    ) -> TestPublisher[T]:
        seconds = self._timeout if timeout is None else checked_timeout(timeout, "timeout")
        with self._changed:
            if not self._changed.wait_for(condition, seconds):
                raise AssertionError(f"expected {expected} within {seconds} seconds: {self._summary()}")
        return self

    def _summary(self) -> str:
        subscriptions = "; ".join(str(subscription) for subscription in list(self._subscriptions))
        counts = f"{self.subscribe_count} subscribed, {self.cancel_count} cancelled"
        return f"{counts}; {subscriptions}" if subscriptions else counts
