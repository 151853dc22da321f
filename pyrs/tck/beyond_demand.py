"""Additional tests of a Publisher: demand, overlaps, Subscribers, release."""

from __future__ import annotations

from threading import Event
from typing import Generic, TypeVar

from pyrs.api import Publisher, Subscription
from pyrs.tck.environment import LONG_MAX, Skipped, TestEnvironment, milliseconds, named
from pyrs.tck.manual import Failing, ManualSubscriber, Watching
from pyrs.tck.publisher_hooks import (
    OPTIONAL_NOT_IMPLEMENTED,
    PublisherHooks,
    failed_publisher_test,
    publisher_test,
)
from pyrs.tck.trace import original
from pyrs.tck.waiting import Latch, linger, started

T = TypeVar("T")

_LARGE_DEMAND = 1_500


class BeyondDemandTests(PublisherHooks[T], Generic[T]):
    """The additional tests of §1.1, §1.3, §1.4, §1.11, §3.2, §3.5, §3.13 and §3.17."""

    @publisher_test(_LARGE_DEMAND + 1)
    def beyond_spec101_mustNotExceedALargeDemand(self, publisher: Publisher[T]) -> None:
        """After one request of 1,500 or 1,500 requests, 1,500 elements arrive (§1.1)."""
        self._publishes_a_large_demand(publisher, by=_LARGE_DEMAND)
        self._publishes_a_large_demand(self.new_publisher(_LARGE_DEMAND + 1), by=1)

    def _publishes_a_large_demand(self, publisher: Publisher[T], by: int) -> None:
        subscriber = self.subscribe(publisher, Watching[T](self.env, _LARGE_DEMAND))
        for _ in range(0, _LARGE_DEMAND, by):
            subscriber.request(by)
        if not subscriber.all_received.closes_while(lambda: subscriber.elements):
            arrived = subscriber.elements
            self.env.flop(f"{_LARGE_DEMAND} elements were requested, but {arrived} arrived (rule 1.2)")
        self.env.verify_no_async_errors()
        subscriber.cancel()
        if subscriber.elements > _LARGE_DEMAND:
            arrived = subscriber.elements
            self.env.flop_and_fail(f"{arrived} elements arrived, but {_LARGE_DEMAND} were requested (rule 1.1)")

    @publisher_test(3, completes=True)
    def beyond_spec103_mustNotCompleteDuringOnNext(self, publisher: Publisher[T]) -> None:
        """on_complete must not overlap on_next of the last element (§1.3)."""
        subscriber = self.subscribe(publisher, _Lingering[T](self.env, last=3))
        subscriber.request(LONG_MAX)
        subscriber.ended.expect_close("the Publisher did not signal on_complete after its 3 elements (rule 1.5)")
        self.env.verify_no_async_errors()

    @publisher_test(3)
    def beyond_spec103_mustNotFailDuringOnNext(self, publisher: Publisher[T]) -> None:
        """on_error after ``request(0)`` must not overlap on_next (§1.3, §3.9)."""
        subscriber = self._blocked(publisher)
        started("request", subscriber.request, 0).join(self.env.timeout)
        self.env.verify_no_async_errors()
        subscriber.released.set()
        subscriber.ended.expect_close("the Publisher did not signal on_error after request(0) (rule 3.9)")

    @failed_publisher_test
    def beyond_spec104_mustSignalAnException(self, publisher: Publisher[T]) -> None:
        """The argument of on_error must be an exception (§1.4)."""
        subscriber = Failing[T](self.env, self.name_of(publisher))
        self.call_subscribe(publisher, subscriber)
        subscriber.failed.expect_close(f"failed {self.name_of(publisher)} did not call on_error")
        if subscriber.failed.is_closed and not isinstance(subscriber.argument, BaseException):
            self.env.flop(f"on_error({subscriber.argument!r}): the argument is not an exception (rules 1.4, 2.13)")

    @publisher_test(3)
    def beyond_spec111_mustSeparateItsSubscribers(self, publisher: Publisher[T]) -> None:
        """A request or cancel of a Subscriber must not affect another (§1.1, §3.12).

        The test is skipped if the Publisher does not support two Subscribers at the same time.
        """
        self._separates(publisher, first_leaves=True)
        self._separates(self.new_publisher(3), first_leaves=False)

    def _separates(self, publisher: Publisher[T], *, first_leaves: bool) -> None:
        first = self.subscribe(publisher, Watching[T](self.env, 1))
        try:
            second = self.subscribe(publisher, Watching[T](self.env, 1))
        except Exception as error:
            raise Skipped(f"{OPTIONAL_NOT_IMPLEMENTED}: {error}") from error
        if original(first.subscription.value) is original(second.subscription.value):
            self.env.flop_and_fail("two Subscribers received the same Subscription (rule 3.1)")
        first.request(1)
        self.env.verify_no_async_errors()
        self._assert_demanded(second, 0)
        # Both request before the cancel, because a Publisher may emit only after all its Subscribers have requested.
        second.request(1)
        served = [each.all_received.closes_while(lambda: each.signals) for each in (first, second)]  # noqa: B023
        self._assert_demanded(first, 1)
        self._assert_demanded(second, 1)
        if second.error is not None or not all(served):
            raise Skipped(f"{OPTIONAL_NOT_IMPLEMENTED}: {second.error or 'one of two Subscribers received no element'}")
        leaving, staying = (first, second) if first_leaves else (second, first)
        leaving.cancel()
        staying.expect(2)
        staying.request(1)
        if not staying.all_received.closes_while(lambda: staying.signals):
            signalled = f", but {staying.last}" if staying.ended.is_closed else ""
            self.env.flop(
                "a Subscriber did not receive the requested element after another Subscriber had cancelled "
                f"{milliseconds(self.env.timeout)}{signalled} (rule 3.12)"
            )
        self.env.verify_no_async_errors()
        self._assert_demanded(leaving, 1)
        self._assert_demanded(staying, 2)
        staying.cancel()

    def _assert_demanded(self, subscriber: Watching[T], requested: int) -> None:
        if subscriber.elements > requested:
            self.env.flop_and_fail(
                f"{subscriber.elements} elements arrived at a Subscriber that had requested {requested}, "
                "while another Subscriber was subscribed (rule 1.1)"
            )

    @publisher_test(4)
    def beyond_spec302_everyRequestInsideOnSubscribeMustCount(self, publisher: Publisher[T]) -> None:
        """Three requests inside on_subscribe must lead to three elements (§3.2)."""
        subscriber = self.subscribe(publisher, _RequestsInOnSubscribe[T](self.env))
        subscriber.next_elements(3, "the Publisher ignored a request inside on_subscribe (rule 3.2)")
        subscriber.expect_none("the Publisher published an element that was not requested (rule 1.1):")
        self.env.verify_no_async_errors_no_delay()
        subscriber.cancel()

    @publisher_test(3)
    def beyond_spec305_cancelMustReturnDuringOnNext(self, publisher: Publisher[T]) -> None:
        """``cancel`` must return in time while another thread is inside on_next (§3.5)."""
        subscriber = self._blocked(publisher)
        cancelling = started("cancel", subscriber.cancel)
        cancelling.join(self.env.timeout)
        late = cancelling.is_alive()
        subscriber.released.set()
        if late:
            self.env.flop(
                f"cancel did not return {milliseconds(self.env.timeout)} while another thread was inside on_next "
                "(rule 3.5)"
            )

    def _blocked(self, publisher: Publisher[T]) -> _BlocksInOnNext[T]:
        """Return a Subscriber that blocks inside on_next on another thread."""
        subscriber = _BlocksInOnNext[T](self.env)
        self.env.on_close(subscriber.released.set)
        self.subscribe(publisher, subscriber)
        started("request", subscriber.request, 1)
        subscriber.inside.expect_close("the Publisher did not publish the requested element")
        self.env.verify_no_async_errors_no_delay()
        return subscriber

    @publisher_test(3)
    def beyond_spec313_mustDropTheSubscriberAfterOnError(self, publisher: Publisher[T]) -> None:
        """After on_error, the Publisher must release the Subscriber (§1.6, §3.13)."""

        def used() -> Watching[T]:
            subscriber = self.subscribe(publisher, Watching[T](self.env))
            subscriber.request(0)  # every Publisher must signal on_error for it (§3.9)
            subscriber.ended.expect_close("the Publisher did not signal on_error after request(0) (rule 3.9)")
            return subscriber

        self.must_drop(publisher, used, "on_error (rules 1.6, 3.13)")

    @failed_publisher_test
    def beyond_spec313_failedPublisherMustDropTheSubscriber(self, publisher: Publisher[T]) -> None:
        """A failed Publisher must release the Subscriber after on_error (§3.13)."""

        def used() -> Failing[T]:
            subscriber = Failing[T](self.env, self.name_of(publisher))
            self.call_subscribe(publisher, subscriber)
            subscriber.failed.expect_close(f"failed {self.name_of(publisher)} did not call on_error")
            return subscriber

        self.must_drop(publisher, used, "on_error (rules 1.6, 3.13)")

    @publisher_test(3)
    def beyond_spec313_mustDropASubscriberThatCancelsFirst(self, publisher: Publisher[T]) -> None:
        """A Subscriber that cancels before any request must be released (§3.13)."""

        def used() -> ManualSubscriber[T]:
            subscriber = self.new_manual_subscriber(publisher)
            subscriber.cancel()
            return subscriber

        self.must_drop(publisher, used, "a cancel before any request (rule 3.13)")

    @publisher_test(3, completes=True)
    def beyond_spec317_demandAboveTheMaximumMustNotStall(self, publisher: Publisher[T]) -> None:
        """A demand above 2**63 - 1 must lead to all elements and on_complete (§3.17)."""
        self._exceeds(publisher, "on_next")
        self._exceeds(self.new_publisher(3), "on_subscribe")

    def _exceeds(self, publisher: Publisher[T], signal: str) -> None:
        subscriber = self.subscribe(publisher, _ExceedsDemand[T](self.env, signal))
        subscriber.request(2)
        subscriber.ended.expect_close(
            f"the Publisher did not complete its 3 elements after a demand above 2**63 - 1 inside {signal} (rule 3.17)"
        )
        if subscriber.ended.is_closed and (subscriber.elements != 3 or subscriber.error is not None):
            self.env.flop(
                f"{subscriber.last} arrived after {subscriber.elements} of 3 elements, after a demand above 2**63 - 1 "
                f"inside {signal} (rule 3.17)"
            )


class _Lingering(Watching[T]):
    """Stays in on_next of the last element to detect an overlapping on_complete."""

    def __init__(self, env: TestEnvironment, last: int) -> None:
        super().__init__(env)
        self._last = last
        self._overlapped = Event()
        self._inside = False

    def on_next(self, element: T, /) -> None:
        last = self.elements + 1 == self._last
        self._inside = last
        with self._guard.during(f"on_next({named(element)})"):
            super().on_next(element)
            if last:
                linger(self._overlapped, self.env.no_signals_timeout)
        self._inside = False

    def on_complete(self) -> None:
        if self._inside:
            self.env.flop("on_complete was called before on_next of the last element returned (rule 1.3)")
            self._overlapped.set()
        super().on_complete()


class _RequestsInOnSubscribe(ManualSubscriber[T]):
    def on_subscribe(self, subscription: Subscription, /) -> None:
        super().on_subscribe(subscription)
        for _ in range(3):
            subscription.request(1)


class _BlocksInOnNext(Watching[T]):
    """Stays in on_next until it is released."""

    def __init__(self, env: TestEnvironment) -> None:
        super().__init__(env)
        self.inside = Latch(env)
        self.released = Event()

    def on_next(self, element: T, /) -> None:
        with self._guard.during("on_next"):
            super().on_next(element)
            self.inside.close()
            self.released.wait(10 * self.env.timeout)


class _ExceedsDemand(Watching[T]):
    """Requests 2**63 - 1 elements twice, inside on_subscribe or on_next."""

    def __init__(self, env: TestEnvironment, signal: str) -> None:
        super().__init__(env)
        self._inside = signal

    def on_subscribe(self, subscription: Subscription, /) -> None:
        super().on_subscribe(subscription)
        self._exceed("on_subscribe")

    def on_next(self, element: T, /) -> None:
        super().on_next(element)
        if self.elements == 1:
            self._exceed("on_next")

    def _exceed(self, signal: str) -> None:
        if signal == self._inside:
            self.subscription.value.request(LONG_MAX)
            self.subscription.value.request(LONG_MAX)
