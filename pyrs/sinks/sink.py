"""What all sinks have in common: elements are pushed in from outside, and a result says what became of each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from time import monotonic, sleep
from typing import Generic, TypeVar

from pyrs._core.hub import EmitResult, Hub
from pyrs._core.validation import checked_callable, checked_seconds
from pyrs.errors import EmitFailed
from pyrs.stream.stream import Stream

__all__ = ["FailureHandler", "Sink", "busy_looping"]

T = TypeVar("T")

FailureHandler = Callable[[EmitResult], object]
"""Called with a result that is not OK. True means: try again, at once."""


class Sink(Hub[T], Generic[T]):
    """A hot Publisher that you push elements into; what ``unicast``, ``multicast``, ``replay`` ... return.

    ``try_emit`` signals on the calling thread, or holds the element, and says what became of it; it never waits.
    Hand ``stream`` to whoever subscribes. Subscribers see the context variables of their ``subscribe``.

    **One thread at a time.** A push while another thread's push is being signalled is refused: NON_SERIALIZED, and
    nothing happened. A push from inside ``on_next`` (the same thread) is taken by a sink that can hold it, and is
    signalled when the current element is through.

    Attributes:
        dropped: how many elements were lost to a Subscriber, by sinks that drop.

    Rules: 1.1, 1.3, 1.4, 1.5, 1.7, 1.9, 1.11, 2.13, 3.3 and, for each Subscriber, those of ``Subscription``.
    """

    dropped = 0

    @abstractmethod
    def try_emit(self, element: T, /) -> EmitResult:
        """Push an element, without waiting.

        Returns:
            OK, or why it was not taken.

        Raises:
            NullSignal: the element is None.
        """

    @property
    def stream(self) -> Stream[T]:
        """What is pushed, with operators."""
        return Stream(self)

    @property
    def subscriber_count(self) -> int:
        """How many Subscribers there are at this moment."""
        return len(self._taps)

    def emit(self, element: T, /, on_failure: FailureHandler | None = None) -> None:
        """Push an element; where that fails, raise or try again.

        Args:
            element: not None.
            on_failure: called with each result that is not OK; as long as it returns True the push is tried again.
                ``busy_looping(seconds)`` makes one for threads that collide.

        Raises:
            EmitFailed: the element was not taken.
            NullSignal: it is None.
        """
        _insist(lambda: self.try_emit(element), on_failure, "element")

    def emit_error(self, error: BaseException, /, on_failure: FailureHandler | None = None) -> None:
        """Fail the stream, as ``emit`` pushes an element.

        Raises:
            EmitFailed: the error was not taken.
            NullSignal: it is None.
        """
        _insist(lambda: self.try_emit_error(error), on_failure, "error")

    def emit_complete(self, on_failure: FailureHandler | None = None) -> None:
        """Complete the stream, as ``emit`` pushes an element.

        Raises:
            EmitFailed: the end was not taken.
        """
        _insist(self.try_emit_complete, on_failure, "end")

    @abstractmethod
    def _call(self) -> str:
        """What the user wrote."""

    def _held(self) -> int:
        return 0

    def __repr__(self) -> str:
        if self._ended:
            state = ", completed" if self._error is None else f", failed with {type(self._error).__name__}"
        else:
            state = ", cancelled" if self._abandoned else ""
        return f"<{self._call()}: {len(self._taps)} subscribers, {self._held()} held{state}>"


def _insist(push: Callable[[], EmitResult], on_failure: FailureHandler | None, what: str) -> None:
    if on_failure is not None:
        checked_callable(on_failure, "on_failure")
    while True:
        result = push()
        if result is EmitResult.OK:
            return
        if on_failure is None or on_failure(result) is not True:
            raise EmitFailed(result.value, what)


def busy_looping(seconds: float) -> FailureHandler:
    """Return an ``on_failure`` that tries again while another thread is pushing, for so many seconds at most.

    It lets other threads run between the tries. Make a new one for each push: its time begins with its first failure.

    Raises:
        ValueError: the number is negative or not finite.

    Examples:
        >>> from pyrs import sinks
        >>> sink = sinks.multicast()
        >>> sink.emit("a", on_failure=sinks.busy_looping(0.5))
    """
    seconds = checked_seconds(seconds, "seconds")
    deadline = -1.0

    def again(result: EmitResult) -> bool:
        nonlocal deadline
        if result is not EmitResult.NON_SERIALIZED:
            return False
        if deadline < 0:
            deadline = monotonic() + seconds
        sleep(0)
        return monotonic() < deadline

    return again
