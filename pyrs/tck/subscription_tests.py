"""The Java kit's tests of section 3, Subscription. Source: reactive-streams-tck 1.0.4 (MIT-0), written anew."""

from __future__ import annotations

import gc
import random
import time
import weakref
from typing import Generic, TypeVar

from pyrs.api import Publisher, Subscription
from pyrs.tck.environment import INT_MAX, LONG_MAX, named, remaining
from pyrs.tck.manual import BlackholeSubscriber, ManualSubscriber
from pyrs.tck.publisher_hooks import PublisherHooks
from pyrs.tck.serial import Depth
from pyrs.tck.verification import NOT_AN_ARGUMENT, untested
from pyrs.tck.waiting import Latch

__all__ = ["SubscriptionTests", "drops"]

T = TypeVar("T")

_MANY = 100


class SubscriptionTests(PublisherHooks[T], Generic[T]):
    """Section 3, on the Publisher's side."""

    def required_spec302_mustAllowSynchronousRequestCallsFromOnNextAndOnSubscribe(self) -> None:
        """`request` may be called inside of on_subscribe and on_next (3.2)."""

        def body(publisher: Publisher[T]) -> None:
            self.subscribe(publisher, _RequestsInside(self.env))
            self.env.verify_no_async_errors()

        self.active_publisher_test(6, False, body)

    def required_spec303_mustNotAllowUnboundedRecursion(self) -> None:
        """on_next and request must not call one another without end (3.3). See beyond_spec303 for a longer run."""
        bound = self.asked(self.bounded_depth_of_on_next_and_request_recursion)

        def body(publisher: Publisher[T]) -> None:
            subscriber: _Recursing[T] = _Recursing(self, bound)
            try:
                self.subscribe(publisher, subscriber)
                subscriber.request(1)
                subscriber.over.expect_close(
                    f"unable to see how deep the calls nest: awaited at most {bound + 1} on_next signals, or the end"
                )
                self.env.verify_no_async_errors_no_delay()
            finally:
                subscriber.cancel()

        self.active_publisher_test(bound + 1, False, body)

    untested_spec304_requestShouldNotPerformHeavyComputations = untested("a SHOULD, and what is heavy is not defined")
    untested_spec305_cancelMustNotSynchronouslyPerformHeavyComputation = untested("see beyond_spec305")

    def required_spec306_afterSubscriptionIsCancelledRequestMustBeNops(self) -> None:
        """`request` does nothing after cancel (3.6)."""

        def body(publisher: Publisher[T]) -> None:
            subscriber = self.new_manual_subscriber(publisher)
            subscriber.cancel()
            for _ in range(3):
                subscriber.request(1)
            subscriber.expect_none()
            self.env.verify_no_async_errors_no_delay()

        self.active_publisher_test(3, False, body)

    def required_spec307_afterSubscriptionIsCancelledAdditionalCancelationsMustBeNops(self) -> None:
        """`cancel` does nothing after cancel (3.7)."""

        def body(publisher: Publisher[T]) -> None:
            subscriber = self.new_manual_subscriber(publisher)
            for _ in range(3):
                subscriber.cancel()
            subscriber.expect_none()
            self.env.verify_no_async_errors_no_delay()

        self.active_publisher_test(1, False, body)

    def required_spec309_requestZeroMustSignalIllegalArgumentException(self) -> None:
        """request(0) must be answered with on_error(ValueError) (3.9)."""

        def body(publisher: Publisher[T]) -> None:
            subscriber = self.new_manual_subscriber(publisher)
            subscriber.request(0)
            subscriber.expect_error(NOT_AN_ARGUMENT)

        self.active_publisher_test(10, False, body)

    def required_spec309_requestNegativeNumberMustSignalIllegalArgumentException(self) -> None:
        """request(-n) must be answered with on_error(ValueError) (3.9)."""

        def body(publisher: Publisher[T]) -> None:
            subscriber = self.new_manual_subscriber(publisher)
            subscriber.request(-random.randint(1, INT_MAX))
            subscriber.expect_error(NOT_AN_ARGUMENT)

        self.active_publisher_test(10, False, body)

    def optional_spec309_requestNegativeNumberMaySignalIllegalArgumentExceptionWithSpecificMessage(self) -> None:
        """The error of a negative request names the rule, or says what is wrong (3.9)."""

        def body(publisher: Publisher[T]) -> None:
            subscriber = self.new_manual_subscriber(publisher)
            subscriber.request(-random.randint(1, INT_MAX))
            subscriber.expect_error_with_message(
                NOT_AN_ARGUMENT, ("3.9", "non-positive subscription request", "negative subscription request")
            )

        self.optional_publisher_test(10, False, body)

    def required_spec312_cancelMustMakeThePublisherToEventuallyStopSignaling(self) -> None:
        """After cancel signals must stop, sooner or later (3.12)."""
        demand = (10, 5)

        def body(publisher: Publisher[T]) -> None:
            subscriber = self.new_manual_subscriber(publisher)
            for count in demand:
                subscriber.request(count)
            # First an element, then the cancel: a Publisher may handle a cancel before a request (2.8).
            subscriber.next_element()
            subscriber.cancel()
            signalled = 1
            while True:
                subscriber.expect_none()
                if self.env.drop_async_error() is None:
                    return
                signalled += 1
                if signalled > sum(demand):
                    raise AssertionError(
                        f"{self.name_of(publisher)} signalled {signalled} elements, "
                        f"which is more than the signalled demand: {sum(demand)}"
                    )

        self.active_publisher_test(20, False, body)

    def required_spec313_cancelMustMakeThePublisherEventuallyDropAllReferencesToTheSubscriber(self) -> None:
        """After cancel the Publisher must let go of the Subscriber, sooner or later (3.13)."""

        def used(publisher: Publisher[T]) -> weakref.ref[ManualSubscriber[T]]:
            subscriber = self.new_manual_subscriber(publisher)
            subscriber.request(1)
            subscriber.next_element()
            subscriber.cancel()
            return weakref.ref(subscriber)

        def body(publisher: Publisher[T]) -> None:
            if not drops(used(publisher), self.env.reference_timeout):
                self.env.flop(f"{self.name_of(publisher)} did not drop its references to the Subscriber after cancel")
            self.env.verify_no_async_errors_no_delay()

        self.active_publisher_test(3, False, body)

    def required_spec317_mustSupportAPendingElementCountUpToLongMaxValue(self) -> None:
        """request(2**63 - 1) means without a limit (3.17)."""

        def body(publisher: Publisher[T]) -> None:
            subscriber = self.new_manual_subscriber(publisher)
            subscriber.request(LONG_MAX)
            subscriber.next_elements(3)
            subscriber.expect_completion()
            self.env.verify_no_async_errors_no_delay()

        self.active_publisher_test(3, True, body)

    def required_spec317_mustSupportACumulativePendingElementCountUpToLongMaxValue(self) -> None:
        """Requests add up to 2**63 - 1 (3.17)."""

        def body(publisher: Publisher[T]) -> None:
            subscriber = self.new_manual_subscriber(publisher)
            subscriber.request(LONG_MAX // 2)
            subscriber.request(LONG_MAX // 2)
            subscriber.request(1)
            subscriber.next_elements(3)
            subscriber.expect_completion()
            try:
                self.env.verify_no_async_errors_no_delay()
            finally:
                subscriber.cancel()

        self.active_publisher_test(3, True, body)

    def required_spec317_mustNotSignalOnErrorWhenPendingAboveLongMaxValue(self) -> None:
        """Requests beyond 2**63 - 1 are no error (3.17)."""

        def body(publisher: Publisher[T]) -> None:
            subscriber: _Overflowing[T] = _Overflowing(self.env)
            self.subscribe(publisher, subscriber)
            subscriber.request(1)
            try:
                self.env.verify_no_async_errors()
            finally:
                subscriber.cancel()

        self.active_publisher_test(INT_MAX, False, body)


def drops(reference: weakref.ref[ManualSubscriber[T]], timeout: float) -> bool:
    """Wait until an object is gone; say whether it is."""
    deadline = time.monotonic() + timeout
    pause = 0.001
    while reference() is not None:
        gc.collect()
        if reference() is None:
            break
        if not remaining(deadline):
            return False
        time.sleep(min(pause, remaining(deadline)))  # nothing says when an object has gone
        pause *= 2
    return True


class _RequestsInside(ManualSubscriber[T]):
    """Requests three elements in on_subscribe and one more with each of the first hundred."""

    _signals = 0

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.subscription.complete(subscription)
        for _ in range(3):
            subscription.request(1)

    def on_next(self, element: T, /) -> None:
        self._signals += 1
        if self._signals <= _MANY:
            self.subscription.value.request(1)
        elif self._signals > 2 * _MANY or self.env.closed.is_set():
            raise RuntimeError("this is more than was requested")  # what emits without end may do so for ever otherwise


class _Recursing(ManualSubscriber[T]):
    """Requests inside of on_next, and counts how deep it is there."""

    def __init__(self, test: SubscriptionTests[T], bound: int) -> None:
        super().__init__(test.env)
        self._bound = bound
        self._depth = Depth()
        self._signals = 0
        self.over = Latch(test.env)

    def on_next(self, element: T, /) -> None:
        self._signals += 1
        self._depth.now += 1
        if self._depth.now > self._bound:
            self.env.flop(
                f"got {self._depth.now} on_next calls inside one another on one thread, at on_next({named(element)}), "
                f"yet the recursive bound is {self._bound} (rule 3.3)"
            )
            self.over.close()
            return
        if self._signals > self._bound:
            self.over.close()
        else:
            self.subscription.value.request(1)
        self._depth.now -= 1

    def on_complete(self) -> None:
        super().on_complete()
        self.over.close()

    def on_error(self, error: BaseException, /) -> None:
        super().on_error(error)
        self.over.close()


class _Overflowing(BlackholeSubscriber[T]):
    """Requests more than can be, ten times, and then cancels."""

    _left = 10

    def on_next(self, element: T, /) -> None:
        if not self.subscription.is_completed:
            super().on_next(element)
        elif self._left:
            self.subscription.value.request(LONG_MAX - 1)
            self._left -= 1  # not before: so a Publisher whose calls nest never gets here
        else:
            self.subscription.value.cancel()
