"""Additional tests of section 3, for violations that the official TCK accepts."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from pyrs.api import Publisher
from pyrs.tck.beyond_publisher import BeyondPublisherTests
from pyrs.tck.environment import LONG_MAX, T, described, milliseconds
from pyrs.tck.manual import Acting, ManualSubscriber, Watching
from pyrs.tck.publisher_hooks import failed_publisher_test, publisher_test
from pyrs.tck.subscription_tests import Recursing, RequestsInOnSubscribe
from pyrs.tck.waiting import started

_LONG_RUN = 1_000_000
_SECONDS_OF_A_LONG_RUN = 3.0


class BeyondSubscriptionTests(BeyondPublisherTests[T]):
    """The additional tests of section 3, without races and interleavings."""

    @publisher_test(_LONG_RUN + 1)
    def beyond_spec303_mustStayFlatThroughAMillionRequestsInsideOnNext(self, publisher: Publisher[T]) -> None:
        """``request(1)`` inside on_next, a million times, must not recurse (§3.3).

        The same applies if the first request is inside on_subscribe. The test of a slow Publisher ends after three
        seconds.
        """
        # The streams are longer, because a Publisher may complete although on_next of the last element has cancelled.
        self._stays_flat(self.new_publisher(_LONG_RUN + 1), min(_LONG_RUN, 1_000), in_on_subscribe=True)
        self._stays_flat(publisher, _LONG_RUN, in_on_subscribe=False)

    def _stays_flat(self, publisher: Publisher[T], elements: int, *, in_on_subscribe: bool) -> None:
        bound = self.call_number_hook(self.bounded_depth_of_on_next_and_request_recursion)
        seconds = _SECONDS_OF_A_LONG_RUN * self.env.scale
        if in_on_subscribe:
            seconds = min(seconds, self.env.hook_timeout / 2)  # the emission may delay the return of subscribe
        subscriber = Recursing[T](self.env, bound, elements, seconds, in_on_subscribe=in_on_subscribe)
        with subscriber:
            self.subscribe(publisher, subscriber)
            if not in_on_subscribe:
                subscriber.request(1)
            if not subscriber.finished.closes_while(lambda: subscriber.signals) or subscriber.completed:
                self.env.flop_and_fail(
                    f"the Publisher stopped after {subscriber.signals} elements, "
                    "although on_next requested another one (rule 1.2)"
                )

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
        """``request`` after a cancel between elements must have no effect (§3.6).

        The same applies after a cancel inside on_subscribe.
        """
        for received in (1, 2):
            subscriber = self.new_manual_subscriber(publisher)
            for _ in range(received):
                subscriber.request_next_element()
            subscriber.cancel()
            for n in (1, 2):
                subscriber.request(n)
            subscriber.expect_none()
            publisher = self.new_publisher(5)
        cancelled = self.subscribe(publisher, Acting[T](self.env, ManualSubscriber.cancel))
        cancelled.request(1)
        self.env.verify_no_async_errors()
        if cancelled.signals:
            self.env.flop(f"{cancelled.last} arrived after a cancel inside on_subscribe and request(1) (rule 3.6)")

    def beyond_spec315_cancelMustReturnNormally(self) -> None:
        """``cancel`` must return normally in every state (§3.15)."""
        self._returns_normally("3.15", "cancel")

    def beyond_spec316_requestMustReturnNormally(self) -> None:
        """``request`` must return normally in every state, for any number (§3.16)."""
        for n in (1, 0, -(2**63)):
            self._returns_normally("3.16", "request", n)

    def _returns_normally(self, rule: str, method: str, *arguments: int) -> None:
        def attempt(state: str, subscriber: ManualSubscriber[T]) -> None:
            try:
                getattr(subscriber, method)(*arguments)
            except Exception as error:
                call = f"{method}({', '.join(map(str, arguments))}) (rule {rule})"
                self.env.flop(f"{call} raised {described(error)}, {state}")

        self.needs(3, completion=False)
        subscriber = self.subscribe(self.new_publisher(3), Watching[T](self.env))
        attempt("before any request", subscriber)
        _cancel(subscriber)
        subscriber = self.subscribe(self.new_publisher(3), Watching[T](self.env))
        subscriber.request(1)
        attempt("after a request", subscriber)
        _cancel(subscriber)
        attempt("after cancel", subscriber)
        if self.call_number_hook(self.max_elements_from_publisher) < LONG_MAX:
            attempt("after on_complete", self._completed(self.new_publisher(1)))

    @publisher_test(4)
    def beyond_spec302_everyRequestInsideOnSubscribeMustCount(self, publisher: Publisher[T]) -> None:
        """Three requests inside on_subscribe must lead to three elements (§3.2)."""
        subscriber = self.subscribe(publisher, RequestsInOnSubscribe[T](self.env))
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

    @publisher_test(3)
    def beyond_spec313_mustDropTheSubscriberAfterOnError(self, publisher: Publisher[T]) -> None:
        """After on_error, the Publisher must release the Subscriber (§1.6, §3.13)."""
        self.must_drop(publisher, lambda: self._failed(publisher), "on_error (rules 1.6, 3.13)")

    @failed_publisher_test
    def beyond_spec313_failedPublisherMustDropTheSubscriber(self, publisher: Publisher[T]) -> None:
        """A failed Publisher must release the Subscriber after on_error (§3.13)."""
        self.must_drop(publisher, lambda: self.subscribe_failed(publisher), "on_error (rules 1.6, 3.13)")

    @publisher_test(3)
    def beyond_spec313_mustDropASubscriberThatCancelsFirst(self, publisher: Publisher[T]) -> None:
        """A Subscriber that cancels before any request must be released (§3.13).

        The same applies to a cancel inside on_subscribe or on_next, and while another Subscriber stays.
        """
        self._must_drop_after_a_cancel(publisher, "before any request", at=-1)
        self._must_drop_after_a_cancel(self.new_publisher(3), "inside on_subscribe", at=0)
        self._must_drop_after_a_cancel(self.new_publisher(3), "inside on_next", at=1)
        publisher = self.new_publisher(3)
        with self.subscribe(publisher, Watching[T](self.env)):
            self._must_drop_after_a_cancel(publisher, "while another Subscriber stays", at=-1)

    def _must_drop_after_a_cancel(self, publisher: Publisher[T], when: str, at: int) -> None:
        def cancelled() -> ManualSubscriber[T]:
            subscriber = self.subscribe(publisher, Acting[T](self.env, ManualSubscriber.cancel, at))
            if at > 0:
                subscriber.request(3)
                subscriber.acted.closes_while(lambda: subscriber.signals)
            if not subscriber.acted.is_closed:  # ``at`` is negative, or no element arrived, which other tests report
                subscriber.cancel()
            return subscriber

        self.must_drop(publisher, cancelled, f"a cancel {when} (rule 3.13)")

    @publisher_test(3, completes=True)
    def beyond_spec317_demandAboveTheMaximumMustNotStall(self, publisher: Publisher[T]) -> None:
        """A demand above 2**63 - 1 must lead to all elements and on_complete (§3.17)."""
        self._exceeds(publisher, "on_next", at=1)
        self._exceeds(self.new_publisher(3), "on_next of the last element", at=3)
        self._exceeds(self.new_publisher(3), "on_subscribe", at=0)
        unbounded = self.subscribe(self.new_publisher(3), self._requesting(1, at=0))
        self._assert_all_three(unbounded, "request(2**63 - 1) inside on_subscribe")

    def _exceeds(self, publisher: Publisher[T], signal: str, at: int) -> None:
        subscriber = self.subscribe(publisher, self._requesting(1 if at else 2, at))
        subscriber.request(3)
        self._assert_all_three(subscriber, f"a demand above 2**63 - 1 inside {signal}")

    def _requesting(self, times: int, at: int) -> Acting[T]:
        def request(subscriber: Acting[T]) -> None:
            for _ in range(times):
                subscriber.subscription.value.request(LONG_MAX)

        return Acting(self.env, request, at)

    def _assert_all_three(self, subscriber: Watching[T], demand: str) -> None:
        ended = subscriber.ends(f"the Publisher did not complete its 3 elements after {demand} (rule 3.17)")
        if ended and (subscriber.elements != 3 or subscriber.error is not None):
            self.env.flop(
                f"{subscriber.last} arrived after {subscriber.elements} of 3 elements, after {demand} (rule 3.17)"
            )


def _cancel(subscriber: ManualSubscriber[Any]) -> None:
    with suppress(Exception):  # another test checks whether cancel raises
        subscriber.cancel()
