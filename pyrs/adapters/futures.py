"""Convert a Single to a future; the inverse of ``pyrs.from_future``."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Any, TypeVar, overload

from pyrs._core import hooks
from pyrs._core.demand import UNBOUNDED
from pyrs._core.validation import MISSING
from pyrs.api import Subscriber, Subscription
from pyrs.errors import NullSignal, SpecViolation, TooManyElements
from pyrs.operators.terminal import second_element
from pyrs.stream.stream import Maybe, Single

__all__ = ["to_future"]

T = TypeVar("T")


@overload
def to_future(single: Single[T]) -> Future[T]: ...
@overload
def to_future(single: Maybe[T]) -> Future[T | None]: ...
def to_future(single: Maybe[Any]) -> Future[Any]:
    """Subscribe to a Single or a Maybe now, and return a future of its element.

        ---------7|
        to_future
        future.result() == 7

    Requests two elements, so that a second one fails the future instead of being lost. The thread that emits the
    terminal signal completes the future. Cancelling the future, which is possible until then, cancels the stream. Use
    ``asyncio.wrap_future`` for an asyncio future.

    Args:
        single: the Single or Maybe. The result of an empty Maybe is None.

    Raises:
        TypeError: ``single`` is neither.
        TooManyElements: raised by the future's ``result``: the stream emitted a second element, and was cancelled.

    Rules: 2.4, 2.5, 2.6, 2.13.

    Examples:
        >>> import pyrs
        >>> to_future(pyrs.just("a", "b").to_list()).result(timeout=10)
        ['a', 'b']
    """
    if not isinstance(single, Maybe):
        raise TypeError(
            "single must be a Single or a Maybe, such as the result of first() or to_list(), "
            f"not {type(single).__name__}"
        )
    subscriber: FutureSubscriber[Any] = FutureSubscriber(
        "to_future()", default=MISSING if isinstance(single, Single) else None
    )
    single.subscribe(subscriber)
    return subscriber.future


class FutureSubscriber(Subscriber[T]):
    """Completes a future with the element when the stream completes.

    Args:
        call: the user's call, for messages.
        demand: the number of elements to request.
        default: the result for a stream without an element; MISSING to fail the future with a SpecViolation.
    """

    catches_user_errors = True

    def __init__(self, call: str, demand: int = 2, default: Any = MISSING) -> None:
        self.future: Future[T] = Future()
        self._call = call
        self._demand = demand
        self._default = default
        self._found: list[Any] = []  # the element, until a terminal signal or the completion of the future removes it
        self._subscription: Subscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if self._subscription is not None:
            subscription.cancel()  # 2.5
            return
        self._subscription = subscription
        self.future.add_done_callback(self._done)  # now there is a Subscription to cancel
        if not self.future.cancelled():
            subscription.request(self._demand)

    def on_next(self, element: T, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        if not self._found:
            self._found.append(element)
            if self.future.done() and self._discard_found():  # an element arrived after the cancel (2.8)
                hooks.on_next_dropped(1, self._why(), cancelled=self.future.cancelled())
            return
        hooks.discard((), element)
        if not self.future.done():  # else an element arrived after the cancel (2.8)
            self._fail(TooManyElements(second_element(self._default is None)))

    def on_error(self, error: BaseException, /) -> None:
        if error is None:
            raise NullSignal("on_error(None)")
        self._subscription = None  # 2.4
        self._fail(error)

    def on_complete(self) -> None:
        self._subscription = None  # 2.4
        try:
            result = element = self._found.pop()
        except IndexError:
            result, element = self._default, MISSING
        if result is MISSING:
            if not self.future.done():  # else a cancel has discarded the element
                self._fail(
                    SpecViolation("a Single completed without an element; it must emit exactly one", party="Publisher")
                )
            return
        try:
            self.future.set_result(result)
        except InvalidStateError:  # the future was cancelled, or has failed
            if element is not MISSING:
                hooks.discard((), element)
                hooks.on_next_dropped(1, self._why(), cancelled=self.future.cancelled())

    def _fail(self, error: BaseException) -> None:
        try:
            self.future.set_exception(error)
        except InvalidStateError:  # the future was cancelled, or has failed
            hooks.on_error_dropped(error, self._why())

    def _why(self) -> str:
        """Return why the future does not accept a result, for a report."""
        return f"{self._call}: the future {'was cancelled' if self.future.cancelled() else 'had failed before'}"

    def _discard_found(self) -> bool:
        """Discard the element, which will not be the result; return False if none is held."""
        try:
            element = self._found.pop()
        except IndexError:
            return False
        hooks.discard((), element)
        return True

    def _done(self, future: Future[T]) -> None:
        """Cancel the stream, if it is live; discard an element that is not the result."""
        subscription, self._subscription = self._subscription, None
        if future.cancelled():
            future.set_running_or_notify_cancel()  # otherwise concurrent.futures.wait would not return
        try:
            if subscription is not None:
                subscription.cancel()
        finally:
            self._discard_found()


class ConsumingSubscriber(FutureSubscriber[Any]):
    """Calls a function with each element, and completes a future with None."""

    def __init__(self, function: Callable[[Any], object], call: str) -> None:
        super().__init__(call, UNBOUNDED, None)
        self._function = function

    def on_next(self, element: Any, /) -> None:
        try:
            self._function(element)
        except BaseException as error:
            self._fail(error)
            if hooks.is_exit(error):
                raise
