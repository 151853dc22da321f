"""Sink: the base class of all sinks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from time import monotonic, sleep
from typing import Generic, NoReturn

from pyrs._core.downstream import checked_subscriber
from pyrs._core.hub import EmitResult, Hub
from pyrs._core.validation import checked_callable, checked_seconds
from pyrs.api import Subscriber, T
from pyrs.errors import EmitFailed
from pyrs.stream.stream import Stream

_OTHER_NAMES = {
    **dict.fromkeys(("next", "on_next", "emit_next", "push", "put", "send"), "use emit() or try_emit()"),
    **dict.fromkeys(("error", "on_error", "fail"), "use emit_error() or try_emit_error()"),
    **dict.fromkeys(("complete", "on_complete", "on_completed", "close"), "use emit_complete() or try_emit_complete()"),
    **dict.fromkeys(("as_flux", "as_mono", "as_observable"), "use stream"),
    "try_emit_next": "use try_emit()",
}


class _OtherName:
    """Raises an AttributeError with advice for a name of another library.

    A ``__getattr__`` would slow down every attribute of a sink.
    """

    def __init__(self, name: str, advice: str) -> None:
        self._name = name
        self._advice = advice

    def __get__(self, sink: object, owner: type) -> NoReturn:
        message = f"{owner.__name__!r} object has no attribute {self._name!r}: {self._advice}"
        raise AttributeError(message, name=self._name, obj=sink)


FailureHandler = Callable[[EmitResult], object]
"""Called with a result that is not OK. If it returns True, the push is retried immediately."""


class Sink(Hub[T], Generic[T]):
    """A hot Publisher to push elements into.

    ``unicast``, ``multicast``, ``replay`` and others return a sink. Subscribe to the ``stream`` of the sink.
    ``try_emit`` emits on the calling thread or buffers, and does not wait for demand. A Subscriber is called with the
    context variables of the code that subscribed.

    **One thread at a time.** A push during another thread's push is rejected with NON_SERIALIZED and has no effect. A
    sink with a buffer accepts a push inside ``on_next`` on the same thread, and emits it after the current element.

    Attributes:
        dropped: the number of elements that were dropped for a Subscriber, in sinks that drop.

    Rules: 1.1, 1.3, 1.4, 1.5, 1.7, 1.9, 1.11, 2.13, 3.3 and, for each Subscriber, those of ``Subscription``.
    """

    dropped = 0

    @abstractmethod
    def try_emit(self, element: T, /) -> EmitResult:
        """Push an element, without waiting for demand.

        Returns:
            OK, or the reason why it was rejected.

        Raises:
            NullSignal: ``element`` is None.
        """

    def subscribe(self, subscriber: Subscriber[T] | None = None, /, **callables: object) -> None:
        """Subscribe a Subscriber. ``sink.stream.subscribe`` takes callables.

        Raises:
            NullSignal: ``subscriber`` is None (§1.9).
            TypeError: callables are given, or ``subscriber`` is not a Subscriber.
        """
        if callables:
            raise TypeError(f"a sink takes a Subscriber: use sink.stream.subscribe({next(iter(callables))}=...)")
        super().subscribe(checked_subscriber(subscriber))

    @property
    def stream(self) -> Stream[T]:
        """Return a Stream of the pushed elements."""
        return Stream(self)

    @property
    def subscriber_count(self) -> int:
        """Return the current number of Subscribers."""
        return len(self._subscriptions)

    def emit(self, element: T, /, on_failure: FailureHandler | None = None) -> None:
        """Push an element; raise or retry if it is rejected.

        Args:
            element: the element, not None.
            on_failure: called with each result that is not OK; the push is retried while it returns True.
                ``busy_looping(seconds)`` returns such a handler for concurrent pushes.

        Raises:
            EmitFailed: the element was rejected.
            NullSignal: ``element`` is None.
            TypeError: ``on_failure`` is not callable.
        """
        _push_or_raise(lambda: self.try_emit(element), on_failure, "element")

    def emit_error(self, error: BaseException, /, on_failure: FailureHandler | None = None) -> None:
        """Fail the stream; raise or retry if that is rejected, as ``emit`` does.

        Raises:
            EmitFailed: the error was rejected.
            NullSignal: ``error`` is None.
            TypeError: ``error`` is not an exception, or ``on_failure`` is not callable.
        """
        _push_or_raise(lambda: self.try_emit_error(error), on_failure, "error")

    def emit_complete(self, on_failure: FailureHandler | None = None) -> None:
        """Complete the stream; raise or retry if that is rejected, as ``emit`` does.

        Raises:
            EmitFailed: the completion was rejected.
            TypeError: ``on_failure`` is not callable.
        """
        _push_or_raise(self.try_emit_complete, on_failure, "completion")

    @abstractmethod
    def _call(self) -> str:
        """Return the user's call, for messages."""

    def _buffered(self) -> int:
        return 0

    def __repr__(self) -> str:
        if self._ended:
            state = ", completed" if self._error is None else f", failed with {type(self._error).__name__}"
        else:
            state = ", cancelled" if self._abandoned else ""
        return f"<{self._call()}: {len(self._subscriptions)} subscribers, {self._buffered()} buffered{state}>"


def _push_or_raise(push: Callable[[], EmitResult], on_failure: FailureHandler | None, what: str) -> None:
    if on_failure is not None:
        checked_callable(on_failure, "on_failure")
    while True:
        result = push()
        if result is EmitResult.OK:
            return
        if on_failure is None or on_failure(result) is not True:
            raise EmitFailed(result.value, what)


def busy_looping(seconds: float) -> FailureHandler:
    """Return an ``on_failure`` handler that retries while another thread is pushing.

    The handler retries until ``seconds`` after its first call, and yields to other threads. Use a new handler for each
    push.

    Raises:
        TypeError: ``seconds`` is not a duration.
        ValueError: ``seconds`` is negative or not finite.

    Examples:
        >>> from pyrs import sinks
        >>> sink = sinks.multicast()
        >>> sink.emit("a", on_failure=sinks.busy_looping(0.5))
    """
    seconds = checked_seconds(seconds, "seconds")
    deadline = -1.0

    def retries(result: EmitResult) -> bool:
        nonlocal deadline
        if result is not EmitResult.NON_SERIALIZED:
            return False
        if deadline < 0:
            deadline = monotonic() + seconds
        sleep(0)
        return monotonic() < deadline

    return retries


def _name_alternatives() -> None:
    advice = {name: f"use sink.stream.{name}" for name in dir(Stream) if not name.startswith("_")} | _OTHER_NAMES
    for snake, text in advice.items():
        for name in (snake, snake[0] + snake.title().replace("_", "")[1:]):
            if not hasattr(Sink, name):
                setattr(Sink, name, _OtherName(name, text))


_name_alternatives()
