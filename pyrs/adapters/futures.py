"""Convert a Single to a future; the inverse of ``pyrs.from_future``."""

from __future__ import annotations

from concurrent.futures import Future, InvalidStateError
from typing import TypeVar

from pyrs._core import hooks
from pyrs._core.validation import MISSING
from pyrs.api import Subscriber, Subscription
from pyrs.errors import NullSignal, SpecViolation
from pyrs.stream.stream import Single

__all__ = ["to_future"]

T = TypeVar("T")


def to_future(single: Single[T]) -> Future[T]:
    """Subscribe to a Single now, and return a future of its element.

        ---------7|
        to_future
        future.result() == 7

    Requests one element. The thread that emits the terminal signal completes the future. Cancelling the future cancels
    the stream; the future stays pending until then, so it can always be cancelled. Use ``asyncio.wrap_future`` for an
    asyncio future.

    Args:
        single: the result of ``first``, ``to_list``, ``count``, ``reduce`` ...

    Raises:
        TypeError: ``single`` is not a Single.

    Rules: 2.4, 2.5, 2.6, 2.13.

    Examples:
        >>> import pyrs
        >>> to_future(pyrs.just("a", "b").to_list()).result(timeout=10)
        ['a', 'b']
    """
    if not isinstance(single, Single):
        raise TypeError(
            f"single must be a Single, such as the result of first() or to_list(), not {type(single).__name__}"
        )
    subscriber: _Completing[T] = _Completing()
    single.subscribe(subscriber)
    # After subscribe(): a future cancelled during it would run on_done before there is a Subscription to cancel.
    subscriber.future.add_done_callback(subscriber.on_done)
    return subscriber.future


class _Completing(Subscriber[T]):
    """Completes a future with the element when the stream completes."""

    def __init__(self) -> None:
        self.future: Future[T] = Future()
        self._element: T = MISSING
        self._subscription: Subscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if self._subscription is not None:
            subscription.cancel()  # 2.5
            return
        self._subscription = subscription
        subscription.request(1)

    def on_next(self, element: T, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        self._element = element

    def on_error(self, error: BaseException, /) -> None:
        if error is None:
            raise NullSignal("on_error(None)")
        self._subscription = None  # 2.4
        try:
            self.future.set_exception(error)
        except InvalidStateError:  # it was cancelled
            hooks.on_error_dropped(error, "to_future(): the future was cancelled")

    def on_complete(self) -> None:
        self._subscription = None  # 2.4
        if self._element is MISSING:
            self.on_error(
                SpecViolation("a Single completed without an element; it must emit exactly one", party="Publisher")
            )
            return
        try:
            self.future.set_result(self._element)
        except InvalidStateError:  # it was cancelled
            hooks.on_next_dropped(1, "to_future(): the future was cancelled", cancelled=True)

    def on_done(self, future: Future[T]) -> None:
        """Cancel the stream if the future was cancelled, on the thread that cancelled it."""
        subscription, self._subscription = self._subscription, None
        if future.cancelled():
            future.set_running_or_notify_cancel()  # otherwise concurrent.futures.wait would not return
            if subscription is not None:
                subscription.cancel()
