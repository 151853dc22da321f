"""Test section 3 of the specification; ported from reactive-streams-tck (MIT-0)."""

from __future__ import annotations

import math
import random
import time
from threading import Lock, get_ident, local

from pyrs.api import Publisher, Subscription
from pyrs.tck.environment import INT_MAX, LONG_MAX, T, TestEnvironment, named
from pyrs.tck.manual import ManualSubscriber
from pyrs.tck.publisher_hooks import PublisherHooks, publisher_test
from pyrs.tck.verification import ILLEGAL_ARGUMENT
from pyrs.tck.waiting import Latch

_MANY = 100
_TOO_LARGE = "did not receive the expected element (rule 3.17)"
_MAX_THREADS = 16  # the threads that may be inside on_next at the same time before the Publisher is stopped


class SubscriptionTests(PublisherHooks[T]):
    """Tests the Subscriptions of a Publisher (section 3)."""

    @publisher_test(6)
    def required_spec302_mustAllowSynchronousRequestCallsFromOnNextAndOnSubscribe(
        self, publisher: Publisher[T]
    ) -> None:
        """A Subscription must allow ``request`` inside on_subscribe and on_next (§3.2)."""
        self.subscribe(publisher, _RequestsInside(self.env))
        self.env.verify_no_async_errors()

    def required_spec303_mustNotAllowUnboundedRecursion(self) -> None:
        """on_next and request must not recurse without a bound (§3.3)."""
        bound = self.call_number_hook(self.bounded_depth_of_on_next_and_request_recursion)
        self.needs(bound + 1, completion=False)
        publisher = self.new_publisher(bound + 1)
        subscriber = Recursing[T](self.env, bound, bound + 1)
        with subscriber:
            self.subscribe(publisher, subscriber)
            subscriber.request(1)
            subscriber.finished.expect_close(
                f"cannot measure the recursion: expected {bound + 1} on_next signals or on_complete (rule 1.2)"
            )
            self.env.verify_no_async_errors_no_delay()

    @publisher_test(3)
    def required_spec306_afterSubscriptionIsCancelledRequestMustBeNops(self, publisher: Publisher[T]) -> None:
        """After cancel, ``request`` must have no effect (§3.6)."""
        subscriber = self.new_manual_subscriber(publisher)
        subscriber.cancel()
        for _ in range(3):
            subscriber.request(1)
        subscriber.expect_none()

    @publisher_test(1)
    def required_spec307_afterSubscriptionIsCancelledAdditionalCancelationsMustBeNops(
        self, publisher: Publisher[T]
    ) -> None:
        """After cancel, ``cancel`` must have no effect (§3.7)."""
        subscriber = self.new_manual_subscriber(publisher)
        for _ in range(3):
            subscriber.cancel()
        subscriber.expect_none()

    @publisher_test(10)
    def required_spec309_requestZeroMustSignalIllegalArgumentException(self, publisher: Publisher[T]) -> None:
        """``request(0)`` must signal on_error with a ValueError (§3.9)."""
        self._error_of(publisher, 0)

    @publisher_test(10)
    def required_spec309_requestNegativeNumberMustSignalIllegalArgumentException(self, publisher: Publisher[T]) -> None:
        """``request(-n)`` must signal on_error with a ValueError (§3.9)."""
        self._error_of(publisher, -random.randint(1, INT_MAX))

    @publisher_test(10, optional=True)
    def optional_spec309_requestNegativeNumberMaySignalIllegalArgumentExceptionWithSpecificMessage(
        self, publisher: Publisher[T]
    ) -> None:
        """The error of a negative request should name the rule or the cause (§3.9)."""
        message = named(self._error_of(publisher, -random.randint(1, INT_MAX)))
        parts = ["3.9", "non-positive subscription request", "negative subscription request"]
        if not any(part in message for part in parts):
            raise AssertionError(
                f"received the expected ValueError, but its message {message!r} contains none of {parts}"
            )

    def _error_of(self, publisher: Publisher[T], n: int) -> BaseException:
        subscriber = self.new_manual_subscriber(publisher)
        subscriber.request(n)
        return subscriber.expect_error(ILLEGAL_ARGUMENT)

    @publisher_test(20)
    def required_spec312_cancelMustMakeThePublisherToEventuallyStopSignaling(self, publisher: Publisher[T]) -> None:
        """After cancel, the signals must stop eventually (§3.12)."""
        demand = (10, 5)
        subscriber = self.new_manual_subscriber(publisher)
        for count in demand:
            subscriber.request(count)
        # Cancel after the first element, because a Publisher may handle a cancel before an earlier request (§2.8).
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
                    f"{self.name_of(publisher)} published {signalled} elements, more than the {sum(demand)} "
                    "requested before cancel (rules 1.1, 3.12)"
                )

    @publisher_test(3)
    def required_spec313_cancelMustMakeThePublisherEventuallyDropAllReferencesToTheSubscriber(
        self, publisher: Publisher[T]
    ) -> None:
        """After cancel, the Publisher must eventually release the Subscriber (§3.13)."""

        def used() -> ManualSubscriber[T]:
            subscriber = self.new_manual_subscriber(publisher)
            subscriber.request(1)
            subscriber.next_element()
            subscriber.cancel()
            return subscriber

        self.must_drop(publisher, used, "cancel (rule 3.13)")

    @publisher_test(3, completes=True)
    def required_spec317_mustSupportAPendingElementCountUpToLongMaxValue(self, publisher: Publisher[T]) -> None:
        """A demand of 2**63 - 1 must be supported (§3.17)."""
        subscriber = self.new_manual_subscriber(publisher)
        subscriber.request(LONG_MAX)
        subscriber.next_elements(3, _TOO_LARGE)
        subscriber.expect_completion()

    @publisher_test(3, completes=True)
    def required_spec317_mustSupportACumulativePendingElementCountUpToLongMaxValue(
        self, publisher: Publisher[T]
    ) -> None:
        """A demand that adds up to 2**63 - 1 must be supported (§3.17)."""
        subscriber = self.new_manual_subscriber(publisher)
        subscriber.request(LONG_MAX // 2)
        subscriber.request(LONG_MAX // 2)
        subscriber.request(1)
        subscriber.next_elements(3, _TOO_LARGE)
        subscriber.expect_completion()
        with subscriber:
            self.env.verify_no_async_errors_no_delay()

    @publisher_test(INT_MAX)
    def required_spec317_mustNotSignalOnErrorWhenPendingAboveLongMaxValue(self, publisher: Publisher[T]) -> None:
        """A demand that exceeds 2**63 - 1 must not cause on_error (§3.17)."""
        subscriber = self.subscribe(publisher, _Overflowing[T](self.env))
        subscriber.request(1)
        with subscriber:
            self.env.verify_no_async_errors()


class RequestsInOnSubscribe(ManualSubscriber[T]):
    """Requests 3 elements in on_subscribe, one by one."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        super().on_subscribe(subscription)
        for _ in range(3):
            subscription.request(1)


class _RequestsInside(RequestsInOnSubscribe[T]):
    """Requests one element in each of the first 100 on_next calls, too.

    After the test it cancels and does not raise, because a hot Publisher may serve the next test on the same thread.
    """

    _signals = 0

    def on_next(self, element: T, /) -> None:
        self._signals += 1
        if self._signals > 2 * _MANY:
            raise RuntimeError("more elements than were requested")  # stops an endless Publisher
        if self.env.closed.is_set():
            self.subscription.value.cancel()
        elif self._signals <= _MANY:
            self.subscription.value.request(1)


class _Depth(local):
    """The number of nested on_next calls on this thread."""

    now = 0


class Recursing(ManualSubscriber[T]):
    """Requests inside on_next, and counts the nested calls.

    It stops after ``most`` elements or ``seconds``, and if more than ``bound`` calls are nested.
    """

    def __init__(
        self,
        env: TestEnvironment,
        bound: int,
        most: int,
        seconds: float = math.inf,
        *,
        in_on_subscribe: bool = False,
    ) -> None:
        super().__init__(env)
        self._in_on_subscribe = in_on_subscribe
        self._bound = bound
        self._most = most
        self._until = time.monotonic() + seconds
        self._depth = _Depth()
        self.signals = 0
        self.completed = False
        self.finished = Latch(env)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        super().on_subscribe(subscription)
        if self._in_on_subscribe:
            subscription.request(1)

    def on_next(self, element: T, /) -> None:
        depth = self._depth
        depth.now += 1
        self.signals += 1
        if depth.now > self._bound:
            self.env.flop(
                f"{depth.now} nested on_next calls after {self.signals} elements, "
                f"but the bound of the recursion is {self._bound} (rule 3.3)"
            )
            self._stop()
        elif self.signals >= self._most or time.monotonic() > self._until:
            self._stop()
        else:
            self.subscription.value.request(1)
        depth.now -= 1

    def on_complete(self) -> None:
        super().on_complete()
        self.completed = True
        self.finished.close()

    def on_error(self, error: BaseException, /) -> None:
        super().on_error(error)
        self.finished.close()

    def _stop(self) -> None:
        self.cancel()
        self.finished.close()


class _Overflowing(ManualSubscriber[T]):
    """Exceeds the demand of 2**63 - 1 ten times, then cancels.

    A Publisher that starts a thread for each request would multiply its threads, so on_next stops it.
    """

    _left = 10
    _late = 0  # the elements that arrived after the test

    def __init__(self, env: TestEnvironment) -> None:
        super().__init__(env)
        self._lock = Lock()
        self._threads: set[int] = set()
        self._stopped = False

    def on_next(self, element: T, /) -> None:
        thread = get_ident()
        with self._lock:
            nested = thread in self._threads
            self._threads.add(thread)
            runaway = len(self._threads) > _MAX_THREADS and not self._stopped
            # A hot Publisher may serve the next test on the same thread, so only many elements after the test stop it.
            self._late += self.env.closed.is_set()
            self._stopped = self._stopped or runaway or self._late > _MANY
        try:
            if runaway:
                self.env.flop(f"on_next was called on {_MAX_THREADS + 1} threads at the same time (rule 1.3)")
            if self._stopped:
                self.cancel()
                raise RuntimeError("the Publisher was stopped")
            if self._late:
                self.cancel()
            else:
                self._request_more(element)
        finally:
            if not nested:
                with self._lock:
                    self._threads.discard(thread)

    def _request_more(self, element: T) -> None:
        if not self.subscription.is_closed:
            self.env.flop(f"on_next({named(element)}) was called before on_subscribe (rule 1.9)")
        elif self._left:
            self.subscription.value.request(LONG_MAX - 1)
            self._left -= 1  # after the request, so a Publisher with unbounded recursion does not reach this line
        else:
            self.subscription.value.cancel()
