"""Asynchronous sources: from_async_iterable, from_awaitable, from_future ..."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable
from typing import TYPE_CHECKING, Any

from pyrs._core import hooks
from pyrs._core.blocked_threads import check_not_blocked
from pyrs._core.context import in_context
from pyrs._core.coordinator import Coordinator
from pyrs._core.display import call_of, kind_of, name_of, short
from pyrs._core.operator import Operator
from pyrs._core.validation import checked_element
from pyrs.api import Publisher, R, Subscriber, T
from pyrs.stream.stream import Single, Stream

if TYPE_CHECKING:
    import asyncio
    import concurrent.futures
    from contextlib import AbstractAsyncContextManager

__all__ = ["from_async_iterable", "from_awaitable", "from_future", "using_when"]


def from_async_iterable(iterable: AsyncIterable[T], *, loop: asyncio.AbstractEventLoop | None = None) -> Stream[T]:
    """Return a stream of the elements of an asynchronous iterable.

    Cold: each Subscriber iterates the iterable; Subscribers of an iterator or generator share its remaining elements. A
    task on the loop awaits each element on demand and emits it there. A cancel cancels the task: the iterator receives
    CancelledError where it waits. At the end, ``aclose`` of the iterator is awaited, unless ``iterable`` itself is the
    iterator.

    Args:
        iterable: the asynchronous iterable.
        loop: the loop that iterates; None for the loop that is running at ``subscribe``, else a background loop.

    Raises:
        TypeError: ``iterable`` is not an asynchronous iterable, or ``loop`` is not an event loop.

    Rules: 1.1, 1.4, 1.5, 3.9. An element that is None fails the stream with ``NullSignal``.

    Examples:
        >>> async def words():
        ...     yield "to"
        ...     yield "be"
        >>> from_async_iterable(words()).map(str.upper).collect()
        ['TO', 'BE']
    """
    if not hasattr(type(iterable), "__aiter__"):
        advice = ": call it" if callable(iterable) else ": use from_iterable" if hasattr(iterable, "__iter__") else ""
        raise TypeError(f"iterable must be an asynchronous iterable, not {type(iterable).__name__}{advice}")
    from pyrs.aio.sources import AsyncIterablePublisher  # asyncio is a slow import

    return Stream(
        AsyncIterablePublisher(iterable, call_of("from_async_iterable", short, iterable), _checked_loop(loop))
    )


def from_awaitable(
    awaitable: Awaitable[T] | Callable[[], Awaitable[T]], *, loop: asyncio.AbstractEventLoop | None = None
) -> Single[T]:
    """Return a stream of the result of an awaitable.

    A task on the loop awaits ``awaitable`` on demand and emits the result there. A coroutine object can be awaited
    once; pass a coroutine function to await a new call for each Subscriber. A cancel cancels this task, and also a task
    or future that was passed in; ``from_future`` by default cancels neither. A result of None fails the stream with
    ``NullSignal``.

    Args:
        awaitable: a coroutine, task or future, or a function that returns one.
        loop: the loop that awaits; None for the loop that is running at ``subscribe``, else a background loop.

    Raises:
        TypeError: ``awaitable`` is neither awaitable nor callable, or ``loop`` is not an event loop.

    Examples:
        >>> async def answer():
        ...     return 42
        >>> from_awaitable(answer).block()
        42
    """
    method = getattr(type(awaitable), "__await__", None)
    # Stream.__await__ only raises an error. Maybe and Single override it.
    if not callable(awaitable) and (method is None or method is vars(Stream)["__await__"]):
        raise TypeError(
            f"awaitable must be an awaitable or a function that returns one, not {type(awaitable).__name__}"
        )
    from pyrs.aio.sources import AsyncIterablePublisher, Once

    call = call_of("from_awaitable", name_of if callable(awaitable) else short, awaitable)
    return Single(AsyncIterablePublisher(Once(awaitable), call, _checked_loop(loop)))


def from_future(future: concurrent.futures.Future[T] | asyncio.Future[T], *, cancel: bool = False) -> Single[T]:
    """Return a stream of the result of a future.

    The result is emitted on demand, an error as soon as it is set. Every Subscriber receives the same result. The
    signals of an asyncio future are sent on its loop, those of another future on the thread that completes it or
    requests. If the future is done at ``subscribe``, they may also be sent on the thread that subscribes.

    Args:
        future: a future of ``concurrent.futures`` or of asyncio.
        cancel: whether a cancel of a Subscriber also cancels the future, which other code may await.

    Raises:
        TypeError: ``future`` is not a future.

    Examples:
        >>> from concurrent.futures import Future
        >>> future = Future()
        >>> future.set_result("done")
        >>> from_future(future).block()
        'done'
    """
    for name in ("add_done_callback", "result", "exception", "cancel"):
        if isinstance(future, type) or not callable(getattr(future, name, None)):
            raise TypeError(f"future must be a future of concurrent.futures or asyncio, not {kind_of(future)}")
    return Single(_FuturePublisher(future, cancel))


def using_when(resource: Callable[[], AbstractAsyncContextManager[R]], use: Callable[[R], Publisher[T]]) -> Stream[T]:
    """Return a stream that holds an asynchronous resource until the stream terminates.

        using_when(connect, rows)
        subscribe -> await enter ---1---2---| -> await exit

    For each Subscriber, ``resource`` is called, and one task enters and exits its asynchronous context manager, on the
    loop that is running at ``subscribe``, else on a background loop. An entered manager is exited exactly once. The
    terminal signal waits for the exit; a cancel does not. The exit receives the error of a failed stream, and cannot
    suppress that error. If the exit raises, a completed stream fails with the exit's error; after a failure or a cancel
    the exit's error is reported to the dropped-errors hook. A cancel before the manager is entered cancels the task. If
    other code cancels the task, such as a timeout in the manager or the end of ``asyncio.run``, the stream fails with
    the exit's error, or else with a RuntimeError. Forwards demand unchanged.

    Args:
        resource: returns the asynchronous context manager; see ``contextlib.asynccontextmanager``.
        use: receives the entered value, on the loop, and returns a Publisher.

    Raises:
        TypeError: ``resource`` or ``use`` is not callable.

    Examples:
        >>> from contextlib import asynccontextmanager
        >>> @asynccontextmanager
        ... async def connect():
        ...     print("open")
        ...     yield [1, 2]
        ...     print("closed")
        >>> from pyrs import from_iterable
        >>> using_when(connect, from_iterable).collect()
        open
        closed
        [1, 2]
    """
    from pyrs.aio.resources import UsingWhen

    return Stream(UsingWhen(resource, use))


def _checked_loop(loop: asyncio.AbstractEventLoop | None) -> asyncio.AbstractEventLoop | None:
    if loop is not None:
        from pyrs.aio.loops import loop_for

        loop_for(loop)
    return loop


class _FutureRun(Coordinator[Any]):
    def __init__(self, subscriber: Subscriber[Any], operator: _FuturePublisher[Any]) -> None:
        super().__init__(in_context(subscriber), operator)
        self._future = operator.future
        self._cancels = operator.cancel
        # Emptied by _release, because a future of ``concurrent.futures`` keeps its callbacks until it completes.
        self._wakes = wakes = [self.wake]
        self._done: Callable[[object], object] = lambda _: [wake() for wake in [*wakes]]
        get_loop = getattr(operator.future, "get_loop", None)
        self._loop = get_loop() if callable(get_loop) else None

    def _begin(self) -> None:
        if self._loop is not None and not self._future.done():
            check_not_blocked(self._loop)
        self._on_loop(self._listen)

    def _requested_more(self, n: int) -> None:
        self._on_loop(self.wake)

    def _listen(self) -> None:
        try:
            if not self._future.done():
                self._future.add_done_callback(self._done)
            else:
                self.wake()  # the first drain, on another thread, may have found the future pending
        except Exception as error:  # raised by a third-party future; on its loop no caller would receive the error
            self.post_end(self._fail, error)

    def _on_loop(self, function: Callable[[], object]) -> None:
        """Call the function; for an asyncio future, on its loop only."""
        if self._loop is None:
            function()
            return
        from pyrs.aio.loops import run_on

        try:
            run_on(self._loop, None, function)
        except RuntimeError:
            if not self._loop.is_closed():
                raise
            function()

    def _advance(self) -> None:
        future = self._future
        if not future.done():
            if self._loop is not None and self._loop.is_closed():
                closed = "the loop of the future is closed, so the future cannot complete"
                self._fail(RuntimeError(f"{self._operator.call}: {closed}"))
            return
        if future.cancelled():
            self._fail(RuntimeError(f"the future of {self._operator.call} was cancelled"))
        elif (error := future.exception()) is not None:
            self._operator.blame(error)
            self._fail(error)
        elif self._demand():
            try:
                element = checked_element(future.result(), "the future")
            except TypeError as null_signal:
                self._raised(null_signal)
                return
            self._emit(element)
            self._complete()

    def _release(self) -> None:
        self._wakes.clear()
        remove = getattr(self._future, "remove_done_callback", None)
        if self._loop is not None and self._loop.is_closed():
            return  # the closed loop calls no callbacks
        try:
            if self._cancels and not self._future.done():
                self._on_loop(self._future.cancel)
            elif callable(remove):
                self._on_loop(lambda: remove(self._done))
        except BaseException as error:  # raised by a third-party future
            hooks.report(error, f"raised by the future of {self._operator.call}")


class _FuturePublisher(Operator[T]):
    run_type = _FutureRun

    def __init__(self, future: Any, cancel: bool) -> None:
        super().__init__(None, call_of("from_future", short, future))
        self.future = future
        self.cancel = cancel
