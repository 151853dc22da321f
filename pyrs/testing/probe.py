"""PublisherProbe: records whether and how a Publisher was used."""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING, Generic, TypeVar

from pyrs._core.context import attach
from pyrs._core.downstream import SubscriberWrapper, checked_subscriber
from pyrs._core.validation import checked_publisher
from pyrs.api import Publisher, Subscriber, Subscription

if TYPE_CHECKING:
    from pyrs.stream.stream import Stream

T = TypeVar("T")


class PublisherProbe(Publisher[T], Generic[T]):
    """A Publisher that records its use, to test which of several paths a stream takes.

    Forwards all signals, demand and cancels unchanged. Buffers nothing.

    Args:
        publisher: the Publisher to forward; None for an empty one.

    Attributes:
        subscribe_count: the number of ``subscribe`` calls.
        cancel_count: the number of cancelled Subscriptions.
        requests: each requested number, in order.

    Examples:
        >>> import pyrs
        >>> fallback = PublisherProbe(pyrs.just("cached"))
        >>> pyrs.just("fresh").switch_if_empty(fallback.stream()).collect()
        ['fresh']
        >>> _ = fallback.assert_not_subscribed()
    """

    carries_context = True

    def __init__(self, publisher: Publisher[T] | None = None) -> None:
        if publisher is None:
            from pyrs.publishers.basic import empty

            publisher = empty()
        self._publisher: Publisher[T] = checked_publisher(publisher, "publisher")
        self._lock = RLock()  # reentrant: a finalizer may cancel or request while the lock is held
        self.subscribe_count = 0
        self.cancel_count = 0
        self.requests: list[int] = []

    def subscribe(self, subscriber: Subscriber[T], /) -> None:
        subscriber = checked_subscriber(subscriber)
        with self._lock:
            self.subscribe_count += 1
        attach(self._publisher, _ProbingSubscriber(subscriber, self))

    def __repr__(self) -> str:
        return f"PublisherProbe({self._publisher!r})"

    def stream(self) -> Stream[T]:
        """Return a Stream over this Publisher."""
        from pyrs.stream.stream import Stream

        return Stream(self)

    def assert_subscribed(self, times: int | None = None) -> PublisherProbe[T]:
        """Assert that ``subscribe`` was called, exactly ``times`` times if given."""
        return self._assert("subscribed", self.subscribe_count, times)

    def assert_not_subscribed(self) -> PublisherProbe[T]:
        """Assert that ``subscribe`` was not called."""
        return self.assert_subscribed(0)

    def assert_requested(self) -> PublisherProbe[T]:
        """Assert that elements were requested."""
        return self._assert("requested", len(self.requests))

    def assert_not_requested(self) -> PublisherProbe[T]:
        """Assert that no element was requested."""
        return self._assert("requested", len(self.requests), 0)

    def assert_cancelled(self) -> PublisherProbe[T]:
        """Assert that a Subscription was cancelled."""
        return self._assert("cancelled", self.cancel_count)

    def assert_not_cancelled(self) -> PublisherProbe[T]:
        """Assert that no Subscription was cancelled."""
        return self._assert("cancelled", self.cancel_count, 0)

    def _assert(self, what: str, count: int, times: int | None = None) -> PublisherProbe[T]:
        holds = count > 0 if times is None else count == times
        if not holds:
            expected = "at least once" if times is None else f"{times} times"
            raise AssertionError(f"{self!r}: expected to be {what} {expected}, was {what} {count} times")
        return self


class _ProbingSubscriber(SubscriberWrapper[T]):
    def __init__(self, subscriber: Subscriber[T], probe: PublisherProbe[T]) -> None:
        super().__init__(subscriber)
        self._probe = probe

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._subscriber.on_subscribe(_ProbingSubscription(subscription, self._probe))


class _ProbingSubscription(Subscription):
    def __init__(self, subscription: Subscription, probe: PublisherProbe[T]) -> None:
        self._subscription = subscription
        self._probe = probe
        self._cancelled = False

    def request(self, n: int, /) -> None:
        with self._probe._lock:
            self._probe.requests.append(n)
        self._subscription.request(n)

    def cancel(self) -> None:
        with self._probe._lock:
            self._probe.cancel_count += not self._cancelled
            self._cancelled = True
        self._subscription.cancel()
