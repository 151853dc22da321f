"""Subscriptions of sources that produce on the thread that requests."""

from __future__ import annotations

from abc import abstractmethod

from pyrs._core.context import capture
from pyrs._core.serial import SerialSubscription
from pyrs.api import Subscriber, T


class SourceSubscription(SerialSubscription[T]):
    """Drives a pulled source: one of the requesting threads emits for all of them.

    Demand that is added from inside ``on_next`` or by other threads is served by the thread that emits, so the stack
    stays flat (§3.3).

    Rules: 1.1, 1.3, 3.3, and those of ``DownstreamSubscription``.
    """

    def __init__(self, subscriber: Subscriber[T]) -> None:
        super().__init__(subscriber, capture())
        self._takes_demand = self._turn  # empty while a thread drains, which reads new demand itself

    def start(self) -> None:
        """Signal ``on_subscribe``, then the requested elements."""
        self._introduce_with_turn()
        self.run_here()

    @abstractmethod
    def _produce(self, subscriber: Subscriber[T], demand: int) -> int:
        """Signal up to ``demand`` elements and return their number, or terminate.

        Return after an element if ``_interrupted`` is set. If the demand has grown since the call, up to
        ``_requested - _emitted`` elements may be signalled.
        """

    @abstractmethod
    def _look_for_end(self) -> None:
        """Terminate the stream if its end is known without pulling."""

    def _on_request(self, n: int) -> None:
        self.run_here()

    def _has_work(self) -> bool:
        return self._subscriber is not None and (self._interrupted or self._requested != self._emitted)

    def _serve(self) -> None:
        while self._live and self._illegal is None:
            demand = self._requested - self._emitted
            subscriber = self._subscriber
            if not demand or subscriber is None:
                self._look_for_end()
                return
            self._emitted += self._produce(subscriber, demand)


class InertSubscription(SourceSubscription[T]):
    """The Subscription of a stream that fails at once; without an error it never ends."""

    def __init__(self, subscriber: Subscriber[T], error: BaseException | None = None) -> None:
        super().__init__(subscriber)
        self._error = error

    def _produce(self, subscriber: Subscriber[T], demand: int) -> int:
        self._look_for_end()
        return demand  # counts as served: no element will come

    def _look_for_end(self) -> None:
        if self._error is not None:
            self._fail(self._error)

    def _release(self) -> None:
        self._error = None
