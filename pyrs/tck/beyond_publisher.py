"""Additional tests of section 1, for violations that the official TCK accepts."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, get_ident

from pyrs.api import Publisher
from pyrs.tck.environment import (
    LONG_MAX,
    Skipped,
    T,
    TestEnvironment,
    described,
    milliseconds,
    named,
    quoted,
    remaining,
)
from pyrs.tck.manual import Acting, Failing, ManualSubscriber, Watching
from pyrs.tck.publisher_hooks import (
    OPTIONAL_NOT_IMPLEMENTED,
    PublisherHooks,
    failed_publisher_test,
    publisher_test,
)
from pyrs.tck.trace import original
from pyrs.tck.verification import ILLEGAL_ARGUMENT
from pyrs.tck.waiting import Latch, linger, started

_SECONDS_OF_A_LARGE_DEMAND = 3.0
_SECONDS_BEFORE_CANCEL = 3.0  # after which a Subscriber of a slow Publisher cancels
_MAX_AFTER_CANCEL = 10_000
_SUBSCRIBERS = 10
_LARGE_DEMAND = 1_500
_LARGER_DEMAND = 10_500  # of a Publisher that publishes 1,500 elements within _SECONDS_OF_A_FAST_RUN
_SECONDS_OF_A_FAST_RUN = 0.2
_LONG_SILENCE = 10  # no_signals_timeouts


class BeyondPublisherTests(PublisherHooks[T]):
    """The additional tests of section 1, without races and interleavings."""

    @publisher_test(1, completes=True)
    def beyond_spec106_mustTreatTheSubscriptionAsCancelledAfterOnComplete(self, publisher: Publisher[T]) -> None:
        """After on_complete, calls on the Subscription must have no effect (§1.6).

        The next Subscriber must receive on_subscribe (§1.9).
        """
        self._assert_no_effect("on_complete", self._completed(publisher))
        self.subscribe(publisher, Watching[T](self.env)).cancel()

    @publisher_test(10)
    def beyond_spec106_mustTreatTheSubscriptionAsCancelledAfterOnError(self, publisher: Publisher[T]) -> None:
        """After on_error, calls on the Subscription must have no effect (§1.6).

        A non-positive request causes on_error in every state (§3.9).
        """
        self._assert_no_effect(
            "on_error",
            self._failed(publisher),
            self._failed_after_an_element(),
            self._failed_inside("on_subscribe", 0, at=0),
            self._failed_inside("on_next with further demand", -1, at=1),
            *self._failed_inside_unbounded(),
        )

    @publisher_test(1, completes=True)
    def beyond_spec106_mustDropTheSubscriberAfterOnComplete(self, publisher: Publisher[T]) -> None:
        """After on_complete, the Publisher must release the Subscriber (§1.6, §3.13)."""

        def used() -> ManualSubscriber[T]:
            subscriber = self.new_manual_subscriber(publisher)
            subscriber.request(LONG_MAX)
            subscriber.next_element()
            subscriber.expect_completion()
            return subscriber

        self.must_drop(publisher, used, "on_complete (rules 1.6, 3.13)")

    @publisher_test(2 * _MAX_AFTER_CANCEL)
    def beyond_spec108_mustStopWhenCancelledInsideOnNext(self, publisher: Publisher[T]) -> None:
        """``cancel`` inside on_next must stop the signals despite remaining demand (§1.8).

        Another thread may cancel. The next Subscriber has no demand (§1.1).
        """
        self._stops_inside(publisher, after=3, demand=2 * _MAX_AFTER_CANCEL)
        self._stops_inside(self.new_publisher(2 * _MAX_AFTER_CANCEL), after=100, demand=LONG_MAX)
        self._stops_inside(self.new_publisher(2 * _MAX_AFTER_CANCEL), after=3, demand=LONG_MAX, on_a_thread=True)
        following = self.subscribe(publisher, Watching[T](self.env))
        self.env.verify_no_async_errors()
        if following.elements:
            self.env.flop("a Subscriber without a request received an element after another had cancelled (rule 1.1)")
        following.cancel()

    def _stops_inside(self, publisher: Publisher[T], after: int, demand: int, *, on_a_thread: bool = False) -> None:
        self.env.progress()  # a slow Publisher has the deadline for each Subscriber
        subscriber = self.subscribe(publisher, _CancelsInside[T](self.env, after, on_a_thread=on_a_thread))
        subscriber.request(demand)
        if not subscriber.cancelled.closes_while(lambda: subscriber.elements):
            self.env.flop_and_fail(f"the Publisher did not publish {after} elements after a large request (rule 1.2)")
        if not stops(self.env, lambda: subscriber.signals):
            self.env.flop(f"signals did not stop {milliseconds(10 * self.env.timeout)} of the cancel (rule 1.8)")

    @publisher_test(1)
    def beyond_spec110_mustAnswerEverySubscriberWithOnSubscribeOnce(self, publisher: Publisher[T]) -> None:
        """Each of ten Subscribers must receive on_subscribe once (§1.10, §2.12)."""
        subscribers: list[Watching[T]] = []
        for at in self.env.rounds(_SUBSCRIBERS):
            subscriber: Watching[T] = Watching(self.env)
            subscribers.append(subscriber)
            try:
                self.call_subscribe(publisher, subscriber)
            except Exception as error:
                self.env.flop(
                    f"subscribe raised {described(error)} for Subscriber {at + 1} "
                    f"of {_SUBSCRIBERS}; a Publisher must reject a Subscriber with on_error (rule 1.9)"
                )
        deadline = time.monotonic() + self.env.timeout
        for subscriber in subscribers:
            subscriber.subscription.expect_close(
                f"{self.name_of(publisher)} did not call on_subscribe on one of {_SUBSCRIBERS} Subscribers (rule 1.9)",
                remaining(deadline),
            )
        self.env.verify_no_async_errors()
        for subscriber in subscribers:
            subscriber.cancel()
        self._accepts_a_subscriber_inside_on_next(self.new_publisher(1))

    def _accepts_a_subscriber_inside_on_next(self, publisher: Publisher[T]) -> None:
        inner: Watching[T] = Watching(self.env)
        outer: Watching[T] = Acting(self.env, lambda _: self.call_subscribe(publisher, inner), at=1)
        self.subscribe(publisher, outer).request(1)
        outer.expect(1)
        if outer.receives_all():
            inner.subscription.expect_close(
                f"{self.name_of(publisher)} did not call on_subscribe on a Subscriber that subscribed inside on_next "
                "of another one (rule 1.9)"
            )
        self.env.verify_no_async_errors_no_delay()

    def _completed(self, publisher: Publisher[T]) -> Watching[T]:
        subscriber = self.subscribe(publisher, Watching[T](self.env))
        subscriber.request(2)
        subscriber.ended.expect_close("the Publisher did not signal on_complete after its only element")
        return subscriber

    def _failed(self, publisher: Publisher[T]) -> Watching[T]:
        subscriber = self.subscribe(publisher, Watching[T](self.env))
        subscriber.request(0)  # every Publisher must signal on_error for it (§3.9)
        return self._await_value_error(subscriber, "request(0)")

    def _failed_after_an_element(self) -> Watching[T]:
        subscriber = self.subscribe(self.new_publisher(10), Watching[T](self.env, 1))
        subscriber.request(1)
        subscriber.receives_all()
        subscriber.request(0)
        return self._await_value_error(subscriber, "request(0) after an element")

    def _failed_inside_unbounded(self) -> list[Watching[T]]:
        if self.call_number_hook(self.max_elements_from_publisher) == LONG_MAX:
            return []
        threads = []

        def request(subscriber: Watching[T]) -> None:
            threads.append(get_ident())
            subscriber.subscription.value.request(0)

        subscriber = Acting[T](self.env, request, at=1)
        self.subscribe(self.new_publisher(10), subscriber).request(LONG_MAX)
        subscriber.ends()
        if threads != [get_ident()] and subscriber.elements == 10 and subscriber.last == "on_complete()":
            return []  # a thread of the Publisher may fulfil one request before it reads the next one
        return [self._await_value_error(subscriber, "request(0) inside on_next with unbounded demand")]

    def _failed_inside(self, signal: str, n: int, at: int) -> Watching[T]:
        subscriber = Acting[T](self.env, lambda own: own.subscription.value.request(n), at)
        self.subscribe(self.new_publisher(10), subscriber)
        if at:
            subscriber.request(3)
        return self._await_value_error(subscriber, f"request({n}) inside {signal}")

    def _await_value_error(self, subscriber: Watching[T], call: str) -> Watching[T]:
        ended = subscriber.ends(f"the Publisher did not signal on_error after {call} (rule 3.9)")
        if ended and not isinstance(subscriber.error, ILLEGAL_ARGUMENT):
            self.env.flop(f"expected on_error(ValueError) after {call} but received {subscriber.last} (rule 3.9)")
        return subscriber

    def _assert_no_effect(self, signal: str, *subscribers: Watching[T]) -> None:
        before = [subscriber.signals for subscriber in subscribers]
        for subscriber in subscribers:
            for n in (1, 0, -1):
                subscriber.request(n)
            subscriber.cancel()
            subscriber.request(1)
        self.env.verify_no_async_errors()
        for subscriber, signals in zip(subscribers, before, strict=True):
            if subscriber.signals != signals:
                self.env.flop(f"{subscriber.last} arrived after {signal}, which cancels the Subscription (rule 1.6)")

    @publisher_test(_LARGE_DEMAND + 1)
    def beyond_spec101_mustNotExceedALargeDemand(self, publisher: Publisher[T]) -> None:
        """A demand for 1,500 elements must lead to 1,500 elements (§1.1).

        The demand is ``request(1500)``, or ``request(1)`` 1,500 times. A fast Publisher must also publish 10,500
        elements, and then complete after one more. The test does not wait for all elements of a slow Publisher.
        """
        demand = self.affordable(publisher, _LARGE_DEMAND, _SECONDS_OF_A_LARGE_DEMAND)
        began = time.monotonic()
        self._publishes_a_large_demand(self.new_publisher(_LARGE_DEMAND + 1), demand, by=demand)
        took = time.monotonic() - began - self.env.no_signals_timeout
        self._publishes_a_large_demand(self.new_publisher(_LARGE_DEMAND + 1), demand, by=1)
        most = self.call_number_hook(self.max_elements_from_publisher)
        fast = demand == _LARGE_DEMAND and took < _SECONDS_OF_A_FAST_RUN * self.env.scale
        if fast and most > _LARGER_DEMAND:
            publisher = self.new_publisher(_LARGER_DEMAND + 1)
            self._publishes_a_large_demand(publisher, _LARGER_DEMAND, by=_LARGER_DEMAND, completes=most < LONG_MAX)

    def _publishes_a_large_demand(
        self, publisher: Publisher[T], demand: int, by: int, *, completes: bool = False
    ) -> None:
        self.env.progress()  # a slow Publisher has the deadline for each Subscriber
        subscriber = self.subscribe(publisher, Watching[T](self.env, demand))
        until = time.monotonic() + _SECONDS_OF_A_LARGE_DEMAND * self.env.scale
        for _ in range(0, demand, by):
            subscriber.request(by)
        if not subscriber.receives_all(until):
            self.env.flop(f"{demand} elements were requested, but {subscriber.elements} arrived (rule 1.2)")
        self.env.verify_no_async_errors()
        if subscriber.elements > demand:
            self.env.flop_and_fail(f"{subscriber.elements} elements arrived, but {demand} were requested (rule 1.1)")
        if completes and subscriber.elements == demand:
            subscriber.request(2)
            subscriber.ends()
            if subscriber.elements != demand + 1 or not subscriber.ended.is_closed:
                self.env.flop(
                    f"create_publisher({demand + 1}) must publish {demand + 1} elements and on_complete, but "
                    f"{subscriber.elements} elements arrived, and {subscriber.last} last (rule 1.2)"
                )
        subscriber.cancel()

    @publisher_test(10)
    def beyond_spec107_mustStaySilentForLong(self, publisher: Publisher[T]) -> None:
        """No signal may follow the terminal signal, however late (§1.7).

        No element may arrive without a request (§1.1). The elements must stop after a cancel (§1.8).
        """
        ended = [self._failed(publisher)]
        if self.call_number_hook(self.max_elements_from_publisher) < LONG_MAX:
            ended.append(self._completed(self.new_publisher(1)))
        served = self.subscribe(self.new_publisher(10), Watching[T](self.env, 1))
        served.request(1)
        served.receives_all()
        many = min(2 * _MAX_AFTER_CANCEL, self.call_number_hook(self.max_elements_from_publisher))
        cancelled = self.subscribe(self.new_publisher(many), Acting[T](self.env, ManualSubscriber.cancel, at=1))
        cancelled.request(many)
        cancelled.acted.closes_while(lambda: cancelled.signals)
        silence = _LONG_SILENCE / 2 * self.env.no_signals_timeout
        self.env.verify_no_async_errors(silence)
        if not stops(self.env, lambda: cancelled.elements, silence):
            within = milliseconds(10 * self.env.timeout)
            self.env.flop(f"elements did not stop {within} of a cancel inside on_next (rule 1.8)")
        if served.elements > 1:
            self.env.flop(f"{served.elements} elements arrived, but 1 was requested (rule 1.1)")
        for subscriber in ended:  # Watching has recorded any signal after the terminal one
            subscriber.cancel()
        served.cancel()

    @publisher_test(3, completes=True)
    def beyond_spec103_mustNotCompleteDuringOnNext(self, publisher: Publisher[T]) -> None:
        """on_complete must not overlap on_next of the last element (§1.3)."""
        subscriber = self.subscribe(publisher, _Lingering[T](self.env, last=3))
        subscriber.request(LONG_MAX)
        subscriber.ends("the Publisher did not signal on_complete after its 3 elements (rule 1.5)")
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
        """The argument of on_error must be an exception (§1.4), for each Subscriber.

        Calls on the Subscription must return normally then (§3.15, §3.16), and ``subscribe(None)`` must raise (§1.9).
        """
        for _ in range(2):
            subscriber = self.subscribe_failed(publisher)
            if subscriber.failed.is_closed and not isinstance(subscriber.argument, BaseException):
                given = quoted(subscriber.argument)
                self.env.flop(f"on_error({given}): the argument is not an exception (rules 1.4, 2.13)")
            if subscriber.subscribed.is_closed and not subscriber.subscription.is_closed:
                self.env.flop("the Publisher called on_subscribe(None) (rule 2.13)")
            self.env.verify_no_async_errors_no_delay()
            subscriber.act("a call after on_error", lambda own: own.subscription.value.request(1))
            subscriber.act("a call after on_error", Failing.cancel)
        self.must_refuse_none_subscriber(publisher)

    @publisher_test(3)
    def beyond_spec111_mustSeparateItsSubscribers(self, publisher: Publisher[T]) -> None:
        """A request or cancel of a Subscriber must not affect another (§1.1, §3.12).

        A Processor must keep the elements that one of its Subscribers has not requested yet. The test is skipped if the
        Publisher does not support two Subscribers at the same time.
        """
        self._separates(publisher, first_leaves=True)
        self._separates(self.new_publisher(3), first_leaves=False)
        self._separates(self.new_publisher(3), first_leaves=True, by_request=True)
        self.must_keep_elements_of_a_slow_subscriber()

    def must_keep_elements_of_a_slow_subscriber(self) -> None:
        """Check nothing by default.

        A Publisher decides which elements a slow Subscriber receives. The verification of Processors overrides this
        method.
        """

    def _separates(self, publisher: Publisher[T], *, first_leaves: bool, by_request: bool = False) -> None:
        first = self.subscribe(publisher, Watching[T](self.env, 1))
        try:
            second = self.subscribe(publisher, Watching[T](self.env, 1))
        except Exception as error:
            self.env.clear_async_errors()  # the reason names the first one
            raise Skipped(f"{OPTIONAL_NOT_IMPLEMENTED}: {named(error)}") from error
        if original(first.subscription.value) is original(second.subscription.value):
            self.env.flop_and_fail("two Subscribers received the same Subscription (rule 3.1)")
        first.request(1)
        self.env.verify_no_async_errors()
        self._assert_demanded(second, 0)
        # Both request before the cancel, because a Publisher may emit only after all its Subscribers have requested.
        second.request(1)
        served = [each.receives_all() for each in (first, second)]
        self._assert_demanded(first, 1)
        self._assert_demanded(second, 1)
        if second.error is not None or not all(served):
            raise Skipped(f"{OPTIONAL_NOT_IMPLEMENTED}: {second.error or 'one of two Subscribers received no element'}")
        leaving, staying = (first, second) if first_leaves else (second, first)
        if by_request:
            leaving.request(0)
        else:
            leaving.cancel()
        staying.expect(2)
        staying.request(1)
        if not staying.receives_all():
            signalled = f", but {staying.last}" if staying.ended.is_closed else ""
            left = "called request(0)" if by_request else "cancelled"
            self.env.flop(
                f"a Subscriber did not receive the requested element {milliseconds(self.env.timeout)} after another "
                f"Subscriber had {left}{signalled} (rule 3.12)"
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

    def _blocked(self, publisher: Publisher[T]) -> _BlocksInOnNext[T]:
        """Return a Subscriber that blocks inside on_next on another thread."""
        subscriber = _BlocksInOnNext[T](self.env)
        self.env.on_close(subscriber.released.set)
        self.subscribe(publisher, subscriber)
        started("request", subscriber.request, 1)
        subscriber.inside.expect_close("the Publisher did not publish the requested element")
        self.env.verify_no_async_errors_no_delay()
        return subscriber


def stops(env: TestEnvironment, count: Callable[[], object], silence: float | None = None) -> bool:
    """Wait until a counter stays the same for a time; return whether it does (§1.8).

    The default time is ``no_signals_timeout``. A Publisher whose elements have a longer interval seems to stop.
    """
    deadline = time.monotonic() + 10 * env.timeout
    seen = count()
    while True:
        env.verify_no_async_errors(silence)
        if seen == (seen := count()):
            return True
        if not remaining(deadline):
            return False


class _CancelsInside(Watching[T]):
    """Cancels inside on_next, and stops a Publisher that continues nevertheless."""

    def __init__(self, env: TestEnvironment, after: int, *, on_a_thread: bool) -> None:
        super().__init__(env)
        self._after = after
        self._until = time.monotonic() + _SECONDS_BEFORE_CANCEL * env.scale
        self._on_a_thread = on_a_thread
        self._cancels = True
        self.cancelled = Latch(env)

    def on_next(self, element: T, /) -> None:
        super().on_next(element)
        if self._cancels and (self.elements == self._after or time.monotonic() > self._until):
            self._cancels = False
            self._cancel()
            self.cancelled.close()
        elif self.elements == _MAX_AFTER_CANCEL:
            message = f"{_MAX_AFTER_CANCEL} elements arrived after cancel inside on_next (rule 1.8)"
            self.env.flop(message)
        if self.elements >= _MAX_AFTER_CANCEL:
            raise RuntimeError("the Subscription was cancelled")

    def _cancel(self) -> None:
        if self._on_a_thread:
            started("cancel", self.act, "cancel inside on_next", ManualSubscriber.cancel).join(self.env.timeout)
            return
        began = time.monotonic()
        self.act("cancel inside on_next", ManualSubscriber.cancel)
        if (took := time.monotonic() - began) > self.env.timeout:
            self.env.flop(f"cancel inside on_next took {took:.2f} s (rule 3.5)")


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
