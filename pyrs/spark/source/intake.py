"""The driver's Subscriber: what has come from the publisher, and when it may send more."""

from __future__ import annotations

from collections import deque
from threading import Condition, Thread
from typing import Any

from pyrs._core import hooks
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import DemandExceeded, NullSignal

__all__ = ["Intake"]


class Intake(Subscriber[Any]):
    """Holds elements until they are taken. It never has more than it was allowed.

    Args:
        publisher: is subscribed to, and requested from, on a thread of this object, since it may do its work there.

    Attributes:
        received: how many elements have come.
        ended: whether there will be no more.
        error: with which it ended, if with one.

    Rules: 2.1, 2.2, 2.4, 2.5, 2.7, 2.8, 2.10, 2.13.
    """

    def __init__(self, publisher: Publisher[Any]) -> None:
        self._publisher: Publisher[Any] | None = publisher
        self._changed = Condition()
        self._elements: deque[Any] = deque()
        self._allowed = 0  # not requested yet
        self._requested = 0
        self._subscription: Subscription | None = None
        self.received = 0
        self.ended = False
        self.error: BaseException | None = None
        Thread(target=self._run, name="pyrs-spark-demand", daemon=True).start()

    def allow(self, count: int) -> None:
        """Let this many more elements come."""
        if count > 0:
            with self._changed:
                self._allowed += count
                self._changed.notify_all()

    def take(self, most: int) -> list[Any]:
        """Return the first elements, as many as there are up to this number. By one thread at a time."""
        elements = self._elements
        return [elements.popleft() for _ in range(min(most, len(elements)))]

    @property
    def is_spent(self) -> bool:
        """Whether all that was allowed has come, and was taken."""
        with self._changed:
            return not self._allowed and self.received == self._requested and not self._elements

    def __len__(self) -> int:
        return len(self._elements)

    def wait(self, seconds: float) -> None:
        """Return when there is an element or the end, or after this time."""
        with self._changed:
            self._changed.wait_for(lambda: self._elements or self.ended, seconds)

    def fail(self, error: BaseException | None) -> None:
        """Take nothing more, and let the publisher know."""
        self._end(error)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Request, on the other thread, what was allowed."""
        if subscription is None:
            raise NullSignal("subscription must not be None (2.13)")
        with self._changed:
            first = self._subscription is None and not self.ended
            if first:
                self._subscription = subscription
                self._changed.notify_all()
        if not first:
            subscription.cancel()  # 2.5; and who has cancelled wants no other

    def on_next(self, element: Any, /) -> None:
        """Hold the element."""
        if element is None:
            raise NullSignal("element must not be None (2.13)")
        if self.ended:
            return  # 2.8
        if self.received >= self._requested:
            self._end(DemandExceeded(f"element number {self.received + 1} where {self._requested} were requested"))
            return
        self._elements.append(element)
        self.received += 1  # only now: what has come is not spent before it is taken
        if len(self._elements) == 1:
            with self._changed:
                self._changed.notify_all()

    def on_error(self, error: BaseException, /) -> None:
        """Keep the error for when what came before it is taken."""
        if error is None:
            raise NullSignal("error must not be None (2.13)")
        self._subscription = None  # 2.4
        self._end(error)

    def on_complete(self) -> None:
        """Keep the end for when what came before it is taken."""
        self._subscription = None  # 2.4
        self._end(None)

    def _end(self, error: BaseException | None) -> None:
        with self._changed:
            if self.ended:
                return
            self.error = error
            self.ended = True
            self._changed.notify_all()

    def _run(self) -> None:
        """Subscribe and request, one after the other (2.7): a publisher may emit, or block, within either."""
        publisher, self._publisher = self._publisher, None
        try:
            assert publisher is not None
            publisher.subscribe(self)
            del publisher
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self.ended or (self._allowed and self._subscription is not None))
                    subscription, count = self._subscription, self._allowed
                    self._allowed = 0
                    self._requested += count
                if self.ended or subscription is None:
                    break
                subscription.request(count)
            subscription, self._subscription = self._subscription, None
            if subscription is not None:  # it was not the publisher that ended
                subscription.cancel()
        except BaseException as error:
            if self.ended:
                hooks.on_error_dropped(error, "in the publisher of read_stream")
            self._end(error)
