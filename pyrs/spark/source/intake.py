"""The Subscriber of ``read_stream`` in the driver, with a buffer."""

from __future__ import annotations

from collections import deque
from threading import Condition, Thread, current_thread
from typing import Any

from pyrs._core import hooks
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import DemandExceeded, NullSignal


class Intake(Subscriber[Any]):
    """Buffers elements until they are taken.

    Requests only what ``allow`` permits.

    Args:
        publisher: the source. A thread of this object subscribes and requests, because the source may emit within these
            calls.

    Rules: 2.1, 2.2, 2.4, 2.5, 2.7, 2.8, 2.10, 2.13.
    """

    def __init__(self, publisher: Publisher[Any]) -> None:
        self._publisher: Publisher[Any] | None = publisher
        self._changed = Condition()
        self._elements: deque[Any] = deque()
        self._allowed = 0  # the number of allowed elements that were not requested yet
        self._requested = 0
        self._subscription: Subscription | None = None
        self.received = 0
        self.ended = False
        self.error: BaseException | None = None
        self._thread = Thread(target=self._run, name="pyrs-spark-demand", daemon=True)
        self._thread.start()

    def allow(self, count: int) -> None:
        """Allow ``count`` more elements, which the thread of this object requests."""
        if count > 0:
            with self._changed:
                self._allowed += count
                self._changed.notify_all()

    def take(self, most: int) -> list[Any]:
        """Remove and return at most ``most`` elements; one thread at a time calls it."""
        elements = self._elements
        return [elements.popleft() for _ in range(min(most, len(elements)))]

    @property
    def is_spent(self) -> bool:
        """True if all allowed elements were received and taken."""
        with self._changed:
            return not self._allowed and self.received == self._requested and not self._elements

    def __len__(self) -> int:
        return len(self._elements)

    def wait(self, seconds: float) -> None:
        """Wait for an element or a terminal signal, at most this long."""
        with self._changed:
            self._changed.wait_for(lambda: self._elements or self.ended, seconds)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Keep the subscription, from which the thread of this object requests."""
        if subscription is None:
            raise NullSignal("subscription must not be None (2.13)")
        with self._changed:
            first = self._subscription is None and not self.ended
            if first:
                self._subscription = subscription
                self._changed.notify_all()
        if not first:
            subscription.cancel()  # 2.5, or the intake has ended

    def on_next(self, element: Any, /) -> None:
        """Buffer the element."""
        if element is None:
            raise NullSignal("element must not be None (2.13)")
        if self.ended:  # 2.8
            if current_thread() is self._thread:
                self._cancel()  # otherwise the publisher would emit all requested elements before request() returns
            return
        if self.received >= self._requested:
            requested = f"only {self._requested} were requested"
            self.end(DemandExceeded(f"the publisher emitted element number {self.received + 1}, but {requested}"))
            return
        self._elements.append(element)
        self.received += 1  # after the append, because is_spent compares them
        if len(self._elements) == 1:
            with self._changed:
                self._changed.notify_all()

    def on_error(self, error: BaseException, /) -> None:
        """Keep the error, which follows the buffered elements."""
        if error is None:
            raise NullSignal("error must not be None (2.13)")
        self._subscription = None  # 2.4
        self.end(error)

    def on_complete(self) -> None:
        """Keep the completion, which follows the buffered elements."""
        self._subscription = None  # 2.4
        self.end(None)

    def end(self, error: BaseException | None) -> None:
        """End, with the error if it is not None.

        The thread of this object cancels a live subscription.
        """
        with self._changed:
            if self.ended:
                return
            self.error = error
            self.ended = True
            self._changed.notify_all()

    def _run(self) -> None:
        """Subscribe and request sequentially (2.7), on a separate thread.

        The thread is separate because either call may emit or block.
        """
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
            self._cancel()
        except BaseException as error:
            if self.ended:
                hooks.on_error_dropped(error, "in the publisher of read_stream")
            self.end(error)

    def _cancel(self) -> None:
        """Cancel the subscription, unless the publisher has terminated.

        Called on the thread of this object (2.7).
        """
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            subscription.cancel()
