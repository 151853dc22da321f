"""The demand of a consumer with a bounded buffer: so many ahead, refilled when three quarters are used up."""

from __future__ import annotations

from pyrs._core.demand import UNBOUNDED
from pyrs._core.validation import checked_natural
from pyrs.api import Subscription

__all__ = ["Refill"]


class Refill:
    """Keeps at most ``prefetch`` elements requested and not yet used.

    Demand is signalled from ``on_subscribe`` on (2.1); ``taken`` is called by the consumer alone (2.7).
    """

    __slots__ = ("_ended", "_low", "_subscription", "_used", "prefetch")

    def __init__(self, prefetch: int) -> None:
        self.prefetch = checked_natural(prefetch, "prefetch", 1)
        self._low = prefetch - (prefetch >> 2)
        self._used = 0
        self._subscription: Subscription | None = None
        self._ended = False

    def begin(self, subscription: Subscription) -> None:
        """Take the Subscription and request the first elements; cancel it if there is one already (2.5)."""
        if self._subscription is not None or self._ended:
            subscription.cancel()
            return
        self._subscription = subscription
        subscription.request(min(self.prefetch, UNBOUNDED))

    def taken(self) -> None:
        """One element was used: request more once three quarters of the buffer are free."""
        self._used += 1
        if self._used >= self._low:
            used, self._used = self._used, 0
            subscription = self._subscription
            if subscription is not None:
                subscription.request(used)

    def end(self) -> None:
        """The stream is over: forget the Subscription (2.4)."""
        self._ended = True
        self._subscription = None

    def cancel(self) -> None:
        """Cancel, if the stream is not over (2.6)."""
        subscription = self._subscription
        self.end()
        if subscription is not None:
            subscription.cancel()
