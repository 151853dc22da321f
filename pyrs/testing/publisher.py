"""A Publisher that signals what a test says, and breaks a rule where the test wants that."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Condition
from typing import TYPE_CHECKING, Generic, TypeVar

from pyrs._core.states import Signal
from pyrs._core.subscription import checked_subscriber
from pyrs._core.validation import checked_seconds
from pyrs.api import Publisher, Subscriber
from pyrs.errors import NullSignal
from pyrs.testing import overlap
from pyrs.testing.link import Emission, Link, Violation, amount

if TYPE_CHECKING:
    from datetime import timedelta

    from pyrs.stream.stream import Stream

__all__ = ["TestPublisher"]

T = TypeVar("T")


class TestPublisher(Publisher[T], Generic[T]):
    """Signals what the test says to any number of Subscribers, on the thread that says it.

    It is hot: whoever is subscribed gets the element, and a later Subscriber only the end. With ``cold=True`` it keeps
    everything and gives it to each Subscriber as that one requests.

    Demand: without violations all rules are kept. An element for a Subscriber without demand is a mistake of the test:
    ``next`` raises AssertionError, and nobody is signalled. A cold one keeps the element (it grows).

    Args:
        violations: the rules to break.
        cold: keep what is emitted, for each Subscriber from the beginning.
        timeout: the deadline of each wait, in seconds or as a timedelta.

    Attributes:
        subscribe_count: how often somebody subscribed.
        cancel_count: how many Subscriptions were cancelled.
        requests: each n that was requested, in order.

    Rules: 1.1, 1.3, 1.7, 1.8, 1.9, 2.13, 3.3, 3.6, 3.7, 3.8, 3.9; each as long as no violation says otherwise.

    Examples:
        >>> from pyrs.testing import TestSubscriber
        >>> publisher, subscriber = TestPublisher(), TestSubscriber(2)
        >>> publisher.stream().map(str).subscribe(subscriber)
        >>> _ = publisher.assert_min_requested(2).emit(1, 2)
        >>> subscriber.await_complete()
        ['1', '2']
    """

    __test__ = False  # not a test case, whatever pytest makes of the name

    def __init__(self, *violations: Violation, cold: bool = False, timeout: float | timedelta = 10.0) -> None:
        for violation in violations:
            if not isinstance(violation, Violation):
                raise TypeError(f"violations must be of pyrs.testing.Violation, not {type(violation).__name__}")
        if cold and Violation.CONCURRENT in violations:
            raise ValueError("CONCURRENT needs a hot TestPublisher: a cold one signals when it is asked")
        self.violations = frozenset(violations)
        self.cold = cold
        self.subscribe_count = 0
        self.cancel_count = 0
        self.requests: list[int] = []
        self._timeout = checked_seconds(timeout, "timeout")
        self._changed = Condition()  # guards the books, of the links too; not held while a Subscriber runs
        self._links: list[Link[T]] = []
        self._told: list[Emission] = []  # for those who subscribe later: everything, or the end alone if it is hot
        self._ended = False

    def __repr__(self) -> str:
        named = "".join(f", {violation.name}" for violation in sorted(self.violations, key=lambda each: each.name))
        return f"<TestPublisher: {len(self._live())} Subscribers{named}>"

    def stream(self) -> Stream[T]:
        """Return this Publisher with operators."""
        from pyrs.stream.stream import Stream

        return Stream(self)

    def subscribe(self, subscriber: Subscriber[T], /) -> None:
        """Signal ``on_subscribe``, and from then on what the test says. Rules: 1.9, 1.11."""
        link = Link(checked_subscriber(subscriber), self.violations, self._changed, self._requested, self._cancelled)
        with self._changed:
            self.subscribe_count += 1
            self._links.append(link)
            link.pending.extend(self._told)
            self._changed.notify_all()
        link.start()

    # What the test says.

    def next(self, *elements: T | None) -> TestPublisher[T]:
        """Signal the elements, one after the other, to every Subscriber.

        Raises:
            AssertionError: a Subscriber of a hot one has no demand, or the stream is over; or CONCURRENT was asked for
                and the signals did not overlap, for the Subscriber neither is the kit's nor calls ``hold``.
            NullSignal: an element is None.
        """
        if any(element is None for element in elements) and not self._breaks(Violation.ALLOW_NULL):
            raise NullSignal("next(None): to send it is Violation.ALLOW_NULL")
        emissions = [Emission(Signal.ON_NEXT, element) for element in elements]
        if self._breaks(Violation.CONCURRENT) and len(emissions) > 1:
            self._overlap(emissions)
        else:
            for emission in emissions:
                self._emit(emission)
        return self

    def error(self, error: BaseException | None) -> TestPublisher[T]:
        """Signal ``on_error`` to every Subscriber, now and later.

        Raises:
            AssertionError: the stream is over.
            NullSignal: the error is None.
        """
        if error is None and not self._breaks(Violation.ALLOW_NULL):
            raise NullSignal("error(None): to send it is Violation.ALLOW_NULL")
        self._emit(Emission(Signal.ON_ERROR, error))
        return self

    def complete(self) -> TestPublisher[T]:
        """Signal ``on_complete`` to every Subscriber, now and later.

        Raises:
            AssertionError: the stream is over.
        """
        self._emit(Emission(Signal.ON_COMPLETE))
        return self

    def emit(self, *elements: T | None) -> TestPublisher[T]:
        """Signal the elements and then ``on_complete``."""
        return self.next(*elements).complete()

    @staticmethod
    def hold() -> None:
        """For ``on_next`` under CONCURRENT: on the first thread, stay here until the other signals were there."""
        overlap.hold()

    # What the test asserts.

    def assert_subscribers(self, count: int | None = None) -> TestPublisher[T]:
        """There are so many Subscribers now; at least one if no count is given."""
        live = len(self._live())
        return self._assert(live == count if count is not None else live > 0, f"{_count(count)} Subscribers")

    def assert_no_subscribers(self) -> TestPublisher[T]:
        """There is no Subscriber now."""
        return self._assert(not self._live(), "no Subscriber")

    def assert_was_subscribed(self) -> TestPublisher[T]:
        """Somebody subscribed, now or before."""
        return self._assert(self.subscribe_count > 0, "a Subscriber, now or before")

    def assert_was_not_subscribed(self) -> TestPublisher[T]:
        """Nobody ever subscribed."""
        return self._assert(self.subscribe_count == 0, "no Subscriber, now or before")

    def assert_cancelled(self, count: int | None = None) -> TestPublisher[T]:
        """So many Subscriptions were cancelled; at least one if no count is given."""
        seen = self.cancel_count
        return self._assert(seen == count if count is not None else seen > 0, f"{_count(count)} cancelled")

    def assert_not_cancelled(self) -> TestPublisher[T]:
        """No Subscription was cancelled."""
        return self._assert(self.cancel_count == 0, "none cancelled")

    def assert_was_requested(self) -> TestPublisher[T]:
        """Somebody requested something."""
        return self._assert(bool(self.requests), "a request")

    def assert_was_not_requested(self) -> TestPublisher[T]:
        """Nobody requested anything."""
        return self._assert(not self.requests, "no request")

    def assert_min_requested(self, n: int) -> TestPublisher[T]:
        """There was a Subscriber, and each one requested at least n in all."""
        links = list(self._links)
        return self._assert(
            bool(links) and min(link.requested for link in links) >= n, f"at least {amount(n)} requested by each"
        )

    def assert_max_requested(self, n: int) -> TestPublisher[T]:
        """No Subscriber requested more than n in all."""
        return self._assert(
            max((link.requested for link in self._links), default=0) <= n, f"at most {amount(n)} requested by each"
        )

    def assert_request_overflow(self) -> TestPublisher[T]:
        """An element went to a Subscriber without demand."""
        return self._assert(self._overflowed(), "an element without demand")

    def assert_no_request_overflow(self) -> TestPublisher[T]:
        """No element went to a Subscriber without demand."""
        return self._assert(not self._overflowed(), "no element without demand")

    def assert_second_cancelled(self) -> TestPublisher[T]:
        """With TWO_ON_SUBSCRIBE: each Subscriber cancelled its second Subscription. Rules: 2.5."""
        links = list(self._links)
        return self._assert(
            bool(links) and all(link.second_cancelled for link in links), "the second Subscription of each cancelled"
        )

    def await_subscribers(self, count: int = 1, timeout: float | None = None) -> TestPublisher[T]:
        """Wait until so many are subscribed; AssertionError at the deadline."""
        return self._await(lambda: len(self._live()) >= count, f"{count} Subscribers", timeout)

    def await_requested(self, n: int, timeout: float | None = None) -> TestPublisher[T]:
        """Wait until every Subscriber, and at least one, requested n in all; AssertionError at the deadline."""
        return self._await(
            lambda: bool(self._links) and min(link.requested for link in self._links) >= n,
            f"{amount(n)} requested by each",
            timeout,
        )

    def await_cancelled(self, count: int = 1, timeout: float | None = None) -> TestPublisher[T]:
        """Wait until so many Subscriptions were cancelled; AssertionError at the deadline."""
        return self._await(lambda: self.cancel_count >= count, f"{count} cancelled", timeout)

    # How.

    def _breaks(self, violation: Violation) -> bool:
        return violation in self.violations

    def _live(self) -> list[Link[T]]:
        return [link for link in list(self._links) if not link.over]

    def _overflowed(self) -> bool:
        return any(link.overflowed for link in list(self._links))

    def _requested(self, n: int) -> None:
        self.requests.append(n)

    def _cancelled(self) -> None:
        self.cancel_count += 1

    def _emit(self, emission: Emission) -> None:
        for link in self._admit(emission):
            link.push(emission)

    def _overlap(self, emissions: list[Emission]) -> None:
        for link in self._admit(emissions[0], len(emissions)):
            first, *others = (partial(link.tell, emission) for emission in emissions)

            def bring(others: list[partial[None]] = others) -> None:
                for other in others:
                    other()

            if not overlap.overlapping(first, bring, self._timeout):
                raise AssertionError(
                    f"the signals to {link.name} did not overlap: it has to call hold() of this publisher in on_next"
                )

    def _admit(self, emission: Emission, count: int = 1) -> list[Link[T]]:
        """Return who is to be told, after a look at the demand of each: nobody is told if one must not be."""
        with self._changed:
            if self._ended and not self._breaks(Violation.CLEANUP_ON_TERMINATE):
                raise AssertionError(f"{emission} after the end: to send it is Violation.CLEANUP_ON_TERMINATE")
            links = [link for link in self._links if link.listens]
            terminal = emission.kind is not Signal.ON_NEXT
            if terminal or self.cold:
                self._told.append(emission)
            else:
                without = [link for link in links if not link.has_demand(count)]
                if without:
                    raise AssertionError(
                        f"{emission}: {without[0]} has no demand left: to send it is Violation.REQUEST_OVERFLOW"
                    )
            self._ended = self._ended or terminal
        return links

    def _assert(self, holds: bool, expected: str) -> TestPublisher[T]:
        if not holds:
            raise AssertionError(f"expected {expected}: {self._story()}")
        return self

    def _await(self, condition: Callable[[], bool], expected: str, timeout: float | None) -> TestPublisher[T]:
        seconds = self._timeout if timeout is None else timeout
        with self._changed:
            if not self._changed.wait_for(condition, seconds):
                raise AssertionError(f"expected {expected} within {seconds} seconds: {self._story()}")
        return self

    def _story(self) -> str:
        links = "; ".join(str(link) for link in list(self._links))
        return f"{self.subscribe_count} subscribed, {self.cancel_count} cancelled{'; ' if links else ''}{links}"


def _count(count: int | None) -> str:
    return "some" if count is None else str(count)
