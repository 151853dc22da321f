"""The Subscriber of the contenders that signal each element in Python."""

from __future__ import annotations

import threading
from typing import Any

DEADLINE_SECONDS = 120.0
FOREVER = 2**62


class Stalled(Exception):
    """A stream failed, or did not terminate in time."""


class NoDemand:
    """The Subscription of the contender "limit", which ignores demand."""

    def request(self, n: int) -> None:
        pass

    def cancel(self) -> None:
        pass


class Consumer:
    """Count elements, and request ``batch`` elements at a time, at most ``requests`` times.

    Its ``on_next`` is minimal for a Subscriber with bounded demand. All contenders of a row that signal each element
    use it, so that only the transports differ.
    """

    def __init__(self, batch: int, requests: int = FOREVER) -> None:
        self._batch = batch
        self._requests_left = requests
        self._left = 0
        self._requested = 0
        self._subscription: Any = None
        self._finished = threading.Event()
        self._error: BaseException | None = None

    def on_subscribe(self, subscription: Any) -> None:
        self._subscription = subscription
        self._request_more()

    def on_next(self, element: object) -> None:
        self._left -= 1
        if not self._left:
            self._request_more()

    def on_error(self, error: BaseException) -> None:
        self._error = error
        self._finished.set()

    def on_complete(self) -> None:
        self._finished.set()

    @property
    def count(self) -> int:
        """Return the number of received elements."""
        return self._requested - self._left

    def cancel(self) -> None:
        """Cancel the stream."""
        self._subscription.cancel()

    def wait(self, elements: int) -> None:
        """Wait for the terminal signal.

        Raises:
            Stalled: the stream failed, did not terminate within the deadline, or emitted another number of elements.
        """
        if not self._finished.wait(DEADLINE_SECONDS):
            raise Stalled(
                f"no terminal signal after {DEADLINE_SECONDS:.0f} s; {self.count} of {elements} elements arrived"
            )
        if self._error is not None:
            raise Stalled(f"the stream failed after {self.count} elements") from self._error
        if self.count != elements:
            raise Stalled(f"{self.count} elements arrived, {elements} were sent")

    def _request_more(self) -> None:
        if self._requests_left:
            self._requests_left -= 1
            self._requested += self._batch
            self._left = self._batch
            self._subscription.request(self._batch)
