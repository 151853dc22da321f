"""Additional tests of a Publisher, for rules that the official TCK does not test."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

from pyrs.api import Publisher
from pyrs.tck.environment import LONG_MAX, TestEnvironment, milliseconds, remaining
from pyrs.tck.manual import ManualSubscriber, Watching
from pyrs.tck.publisher_hooks import PublisherHooks, publisher_test
from pyrs.tck.subscription_tests import Recursing
from pyrs.tck.waiting import Latch

T = TypeVar("T")

_LONG_RUN = 1_000_000
_SECONDS_OF_A_LONG_RUN = 3.0
_MAX_AFTER_CANCEL = 10_000
_SUBSCRIBERS = 10


class BeyondPublisherTests(PublisherHooks[T], Generic[T]):
    """The additional tests of §1.6, §1.8, §1.10, §2.12, §3.3, §3.5, §3.15 and §3.16."""

    @publisher_test(1, completes=True)
    def beyond_spec106_mustTreatTheSubscriptionAsCancelledAfterOnComplete(self, publisher: Publisher[T]) -> None:
        """After on_complete, calls on the Subscription must have no effect (§1.6)."""
        subscriber = self.subscribe(publisher, Watching[T](self.env))
        subscriber.request(2)
        subscriber.ended.expect_close("the Publisher did not signal on_complete after its only element")
        self._assert_no_effect(subscriber, "on_complete")

    @publisher_test(10)
    def beyond_spec106_mustTreatTheSubscriptionAsCancelledAfterOnError(self, publisher: Publisher[T]) -> None:
        """After on_error, calls on the Subscription must have no effect (§1.6)."""
        subscriber = self.subscribe(publisher, Watching[T](self.env))
        subscriber.request(0)  # every Publisher must signal on_error for it (§3.9)
        subscriber.ended.expect_close("the Publisher did not signal on_error after request(0) (rule 3.9)")
        self._assert_no_effect(subscriber, "on_error")

    @publisher_test(1, completes=True)
    def beyond_spec106_mustDropTheSubscriberAfterOnComplete(self, publisher: Publisher[T]) -> None:
        """After on_complete, the Publisher must release the Subscriber (§1.6, §3.13)."""

        def used() -> ManualSubscriber[T]:
            subscriber = self.new_manual_subscriber(publisher)
            subscriber.request(2)
            subscriber.next_element()
            subscriber.expect_completion()
            return subscriber

        self.must_drop(publisher, used, "on_complete (rules 1.6, 3.13)")

    @publisher_test(2 * _MAX_AFTER_CANCEL)
    def beyond_spec108_mustStopWhenCancelledInsideOnNext(self, publisher: Publisher[T]) -> None:
        """``cancel`` inside on_next must stop the signals despite remaining demand (§1.8)."""
        self._stops_inside(publisher, after=3)
        self._stops_inside(self.new_publisher(2 * _MAX_AFTER_CANCEL), after=100)

    def _stops_inside(self, publisher: Publisher[T], after: int) -> None:
        subscriber = self.subscribe(publisher, _CancelsInside[T](self.env, after))
        subscriber.request(2 * _MAX_AFTER_CANCEL)
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
                    f"subscribe raised {type(error).__name__}: {error} for Subscriber {at + 1} "
                    f"of {_SUBSCRIBERS}; a Publisher must reject a Subscriber with on_error (rule 1.9)"
                )
        deadline = time.monotonic() + self.env.timeout
        for subscriber in subscribers:
            subscriber.subscription.expect_completion(
                remaining(deadline),
                f"{self.name_of(publisher)} did not call on_subscribe on one of {_SUBSCRIBERS} Subscribers (rule 1.9)",
            )
        self.env.verify_no_async_errors()
        for subscriber in subscribers:
            subscriber.cancel()

    @publisher_test(_LONG_RUN)
    def beyond_spec303_mustStayFlatThroughAMillionRequestsInsideOnNext(self, publisher: Publisher[T]) -> None:
        """``request(1)`` inside on_next, a million times, must not recurse (§3.3).

        The test of a slow Publisher ends after three seconds.
        """
        bound = self.asked(self.bounded_depth_of_on_next_and_request_recursion)
        subscriber = Recursing[T](self.env, bound, _LONG_RUN, _SECONDS_OF_A_LONG_RUN)
        try:
            self.subscribe(publisher, subscriber)
            subscriber.request(1)
            if not subscriber.finished.closes_while(lambda: subscriber.signals) or subscriber.completed:
                self.env.flop_and_fail(
                    f"the Publisher stopped after {subscriber.signals} elements, "
                    "although on_next requested another one (rule 1.2)"
                )
        finally:
            subscriber.cancel()

    @publisher_test(3)
    def beyond_spec305_cancelMustReturnInTime(self, publisher: Publisher[T]) -> None:
        """``cancel`` must return in time, before and between elements (§3.5)."""
        for first in (0, 1):
            subscriber = self.new_manual_subscriber(publisher)
            if first:
                subscriber.request_next_element()
            began = time.monotonic()
            subscriber.cancel()
            took = time.monotonic() - began
            if took > self.env.timeout:
                self.env.flop(f"cancel took {took:.2f} s, but must return {milliseconds(self.env.timeout)} (rule 3.5)")
            publisher = self.new_publisher(3)

    @publisher_test(5)
    def beyond_spec306_requestAfterCancelMustHaveNoEffectBetweenElements(self, publisher: Publisher[T]) -> None:
        """``request`` after a cancel between elements must have no effect (§3.6)."""
        for received in (1, 2):
            subscriber = self.new_manual_subscriber(publisher)
            for _ in range(received):
                subscriber.request_next_element()
            subscriber.cancel()
            for n in (1, 2):
                subscriber.request(n)
            subscriber.expect_none()
            publisher = self.new_publisher(5)

    def beyond_spec315_cancelMustReturnNormally(self) -> None:
        """``cancel`` must return normally in every state (§3.15)."""
        self._returns_normally("3.15", "cancel")

    def beyond_spec316_requestMustReturnNormally(self) -> None:
        """``request`` must return normally in every state, for any number (§3.16)."""
        for n in (1, 0, -(2**63)):
            self._returns_normally("3.16", "request", n)

    def _assert_no_effect(self, subscriber: Watching[T], signal: str) -> None:
        before = subscriber.signals
        for n in (1, 0, -1):
            subscriber.request(n)
        subscriber.cancel()
        subscriber.request(1)
        self.env.verify_no_async_errors()
        if subscriber.signals != before:
            self.env.flop(f"{subscriber.last} arrived after {signal}, which cancels the Subscription (rule 1.6)")

    def _returns_normally(self, rule: str, method: str, *arguments: int) -> None:
        def attempt(state: str, subscriber: ManualSubscriber[T]) -> None:
            try:
                getattr(subscriber, method)(*arguments)
            except Exception as error:
                call = f"{method}({', '.join(map(str, arguments))}) (rule {rule})"
                self.env.flop(f"{call} raised {type(error).__name__}: {error}, {state}")

        self.needs(3, completion=False)
        subscriber = self.subscribe(self.new_publisher(3), Watching[T](self.env))
        attempt("before any request", subscriber)
        _cancel(subscriber)
        subscriber = self.subscribe(self.new_publisher(3), Watching[T](self.env))
        subscriber.request(1)
        attempt("after a request", subscriber)
        _cancel(subscriber)
        attempt("after cancel", subscriber)
        if self.asked(self.max_elements_from_publisher) < LONG_MAX:
            subscriber = self.subscribe(self.new_publisher(1), Watching[T](self.env))
            subscriber.request(2)
            subscriber.ended.expect_close("the Publisher did not signal on_complete after its only element")
            attempt("after on_complete", subscriber)


def stops(env: TestEnvironment, count: Callable[[], object]) -> bool:
    """Wait until a counter stops changing; return whether it does (§1.8)."""
    deadline = time.monotonic() + 10 * env.timeout
    seen = count()
    while True:
        env.verify_no_async_errors()
        if seen == (seen := count()):
            return True
        if not remaining(deadline):
            return False


def _cancel(subscriber: ManualSubscriber[Any]) -> None:
    with suppress(Exception):  # another test checks whether cancel raises
        subscriber.cancel()


class _CancelsInside(Watching[T]):
    """Cancels inside on_next, and stops a Publisher that continues nevertheless."""

    def __init__(self, env: TestEnvironment, after: int) -> None:
        super().__init__(env)
        self._after = after
        self.cancelled = Latch(env)

    def on_next(self, element: T, /) -> None:
        super().on_next(element)
        if self.elements == self._after:
            self.cancel()
            self.cancelled.close()
        elif self.elements == _MAX_AFTER_CANCEL:
            message = f"{_MAX_AFTER_CANCEL} elements arrived after cancel inside on_next (rule 1.8)"
            self.env.flop(message)
        if self.elements >= _MAX_AFTER_CANCEL:
            raise RuntimeError("the Subscription was cancelled")
