"""An asynchronous iterable as a Publisher: a task on a loop that asks for the next element when it is demanded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from pyrs._core import hooks
from pyrs._core.context import capture
from pyrs._core.coordinator import Coordinator
from pyrs._core.fusion import null_element
from pyrs._core.operator import Operator
from pyrs.aio.loops import loop_for, run_on
from pyrs.api import Subscriber

__all__ = ["AsyncIterablePublisher", "Once"]

T = TypeVar("T")

_TURN = 128
"""So many elements of an iterator that never waits are delivered before other tasks get their turn."""


class AsyncIterablePublisher(Operator[T]):
    """The elements of an asynchronous iterable, asked for one by one as they are demanded.

    Args:
        iterable: each Subscriber iterates anew, where it can be.
        call: what the user wrote.
        loop: where it is iterated; None for the loop that runs where somebody subscribes, else the background's.
        only: whether its first element is the last one, so that the end need not be asked for.
    """

    def __init__(
        self, iterable: AsyncIterable[T], call: str, loop: asyncio.AbstractEventLoop | None, only: bool = False
    ) -> None:
        super().__init__(None, call)
        self.iterable = iterable
        self.loop = loop
        self.only = only

    def run(self, subscriber: Subscriber[Any]) -> _Iteration:
        return _Iteration(subscriber, self)

    def discard(self) -> None:
        """Close what was to be awaited, unless it is: nobody wants it any more."""
        if isinstance(self.iterable, Once):
            self.iterable.discard()


class Once(AsyncIterable[T]):
    """The result of an awaitable, or of what a function returns for each iteration anew, as an iterable of one."""

    def __init__(self, source: Awaitable[T] | Callable[[], Awaitable[T]]) -> None:
        self._source = source
        self._begun = False

    def discard(self) -> None:
        """Nobody will await it: a coroutine that was never awaited would be complained of."""
        if not self._begun and asyncio.iscoroutine(self._source):
            self._source.close()

    async def __aiter__(self) -> AsyncIterator[T]:
        self._begun = True
        source = self._source
        yield await (source() if callable(source) else source)


class _Iteration(Coordinator[Any]):
    """One Subscriber's iteration: the task on the loop asks, the lane signals."""

    def __init__(self, subscriber: Subscriber[Any], operator: AsyncIterablePublisher[Any]) -> None:
        super().__init__(subscriber, operator)
        self._iterable = operator.iterable
        self._given_loop = operator.loop
        self._only = operator.only
        self._context = capture()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._demanded = asyncio.Event()
        self._asked = 0  # how many elements the task has asked for, on the loop

    def _begin(self) -> None:
        self._loop = loop_for(self._given_loop)
        run_on(self._loop, self._context, self._launch)

    def _requested_more(self, n: int) -> None:
        loop = self._loop
        if loop is not None and self._task is not None:  # otherwise it sees the demand when it begins
            try:
                run_on(loop, None, self._demanded.set)
            except RuntimeError as error:  # the loop was closed
                self.post(self._fail, error)

    def _release(self) -> None:
        loop = self._loop
        try:
            if loop is not None and not loop.is_closed():
                run_on(loop, None, self._stop)
                return
        except RuntimeError:  # the loop was closed, and its tasks with it
            pass
        self._stop()

    # On the loop.

    def _launch(self) -> None:
        if self._live:
            assert self._loop is not None
            self._task = self._loop.create_task(self._iterate())
            self._task.add_done_callback(self._task_done)

    def _stop(self) -> None:
        if self._task is not None and not self._task.get_loop().is_closed():
            self._task.cancel()
        if isinstance(self._iterable, Once):
            self._iterable.discard()

    def _task_done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            task.exception()  # an exit that travelled on; otherwise asyncio says that nobody looked at it
        elif self._live:  # before it began: otherwise it says so itself
            self._cancelled_by_others(None)

    def _cancelled_by_others(self, error: BaseException | None) -> None:
        cancelled = RuntimeError(f"the task of {self._operator.call} was cancelled")
        cancelled.__cause__ = error  # not itself: it would look like the consumer's own
        self.post(self._fail, cancelled)

    async def _iterate(self) -> None:
        try:
            iterator = aiter(self._iterable)
            try:
                await self._pull(iterator)
            finally:
                close = getattr(iterator, "aclose", None)
                if close is not None and iterator is not self._iterable:  # one that was passed in is the caller's
                    await close()
        except BaseException as error:
            stopped = isinstance(error, (asyncio.CancelledError, GeneratorExit))  # the latter: the loop was closed
            if not self._live:
                if not stopped:
                    hooks.on_error_dropped(error, f"{self._operator.call}: the stream was over")
            elif stopped:
                self._cancelled_by_others(error)
            else:
                self._operator.blame(error)
                self.post(self._fail, error)
            if hooks.is_exit(error):
                raise

    async def _pull(self, iterator: AsyncIterator[Any]) -> None:
        while self._live:
            while self._asked == self._requested:
                self._demanded.clear()
                # Whoever requests after this line sets the event; what was requested before is seen here.
                if self._asked == self._requested:
                    await self._demanded.wait()
            self._asked += 1
            try:
                element = await anext(iterator)
            except StopAsyncIteration:
                self.post(self._end_well)
                return
            if element is None:
                raise null_element()
            if not self._live:
                hooks.on_next_dropped(  # type: ignore[unreachable]  # a cancel may come while it is awaited
                    1, f"{self._operator.call}: asked for before the cancel", cancelled=True
                )
                return
            self.post(self._emit, element)
            if self._only:
                self.post(self._end_well)
                return
            if self._asked % _TURN == 0:
                await asyncio.sleep(0)

    def _end_well(self, _: object) -> None:
        self._complete()
