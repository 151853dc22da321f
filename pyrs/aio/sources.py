"""An asynchronous iterable as a Publisher: a task awaits each element on demand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from pyrs._core import hooks
from pyrs._core.coordinator import Coordinator
from pyrs._core.display import LazyText
from pyrs._core.fusion import null_element
from pyrs._core.operator import Operator
from pyrs.aio.loops import create_task, loop_for, run_on
from pyrs.aio.waking import TURN
from pyrs.api import Subscriber

T = TypeVar("T")


class Once(AsyncIterable[T]):
    """An iterable of one element, the result of an awaitable.

    The awaitable is given, or returned by the given function.
    """

    def __init__(self, source: Awaitable[T] | Callable[[], Awaitable[T]]) -> None:
        self._source = source
        self._begun = False

    def discard(self) -> None:
        """Close a coroutine that will not be awaited, which avoids Python's warning."""
        if not self._begun and asyncio.iscoroutine(self._source):
            self._source.close()

    async def __aiter__(self) -> AsyncIterator[T]:
        self._begun = True
        source = self._source
        yield await (source() if callable(source) else source)


class _Iteration(Coordinator[Any]):
    """One Subscriber's iteration: a task awaits elements, the drain loop emits them."""

    _operator: AsyncIterablePublisher[Any]

    def __init__(self, subscriber: Subscriber[Any], operator: AsyncIterablePublisher[Any]) -> None:
        super().__init__(subscriber, operator)
        self._iterable = operator.iterable
        self._only = isinstance(operator.iterable, Once)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Future[None] | None = None
        self._demanded = asyncio.Event()
        self._awaited = 0  # the number of elements requested from the iterator; changed on the loop
        # Whether the task waits for demand or an element, so that a cancel interrupts the task. Changed on the loop.
        self._waits = True

    def _begin(self) -> None:
        self._loop = loop_for(self._operator.loop)
        run_on(self._loop, self._context, self._launch)

    def _requested_more(self, n: int) -> None:
        loop = self._loop
        if loop is not None:  # otherwise the task reads the demand when it starts
            try:
                run_on(loop, None, self._demanded.set)
            except RuntimeError as error:  # the loop is closed
                self.post_end(self._fail, error)

    def _release(self) -> None:
        loop = self._loop
        try:
            if loop is not None and not loop.is_closed():
                run_on(loop, None, self._stop)
                return
        except RuntimeError:  # the loop is closed and has discarded its tasks
            pass
        self._stop()

    def _discard(self, element: Any) -> None:
        """Report an element that was requested from the iterator before the cancel."""
        hooks.on_next_dropped(1, f"{self._operator.call}: awaited before the cancel", cancelled=True)
        super()._discard(element)

    # The methods below run on the loop.

    def _launch(self) -> None:
        if self._live:
            assert self._loop is not None
            self._task = create_task(self._loop, self._iterate())
            self._task.add_done_callback(self._task_done)
            if not self._live:  # cancelled by the iterable itself, before the task was stored
                self._stop()  # type: ignore[unreachable]

    def _stop(self) -> None:
        # A task that does not wait is about to end. A cancel would interrupt aclose() of the iterator.
        if self._task is not None and self._waits and not self._task.get_loop().is_closed():
            self._task.cancel()
        self._operator.discard()

    def _task_done(self, task: asyncio.Future[None]) -> None:
        if task.cancelled():
            if self._live:  # cancelled before it started; otherwise _iterate reports it
                self._cancelled_by_others(None)
        elif (error := task.exception()) is not None and not hooks.is_exit(error):  # _iterate reports an exit
            self.post_end(self._fail, error)  # an error of the task factory

    def _cancelled_by_others(self, error: BaseException | None) -> None:
        cancelled = RuntimeError(f"the task of {self._operator.call} was cancelled")
        cancelled.__cause__ = error  # a CancelledError itself would look like a cancel of the consumer's task
        self.post_end(self._fail, cancelled)

    async def _iterate(self) -> None:
        try:
            iterator = aiter(self._iterable)
            try:
                await self._pull(iterator)
            finally:
                self._waits = False
                close = getattr(iterator, "aclose", None)
                if close is not None and iterator is not self._iterable:  # the caller closes its own iterator
                    await close()
        except BaseException as error:
            stopped = isinstance(error, (asyncio.CancelledError, GeneratorExit))  # GeneratorExit: the loop was closed
            if not self._live:
                if not stopped:
                    hooks.on_error_dropped(error, f"{self._operator.call}: the stream was cancelled or has terminated")
            elif stopped:
                self._cancelled_by_others(error)
            else:
                self._operator.blame(error)
                self.post_end(self._fail, error)
            if hooks.is_exit(error):
                raise

    async def _pull(self, iterator: AsyncIterator[Any]) -> None:
        emit = self._emit
        while self._live:
            self._waits = True
            while self._awaited == self._requested:
                self._demanded.clear()
                # A request after this line sets the event; an earlier one is seen by this check.
                if self._awaited == self._requested:
                    await self._demanded.wait()
            self._awaited += 1
            try:
                element = await anext(iterator)
            except StopAsyncIteration:
                self._waits = False
                self.post(self._end_with)
                return
            self._waits = False
            if element is None:
                raise null_element()
            self.post_element(emit, element)
            if self._only:
                self.post(self._end_with)
                return
            if self._awaited % TURN == 0:
                await asyncio.sleep(0)


class AsyncIterablePublisher(Operator[T]):
    """The elements of an asynchronous iterable, awaited one by one on demand.

    Args:
        iterable: iterated once per Subscriber, if it supports that. For a ``Once``, the stream completes directly after
            the element.
        loop: the loop that iterates; None for the loop that is running at ``subscribe``, else the background loop.
    """

    run_type = _Iteration

    def __init__(
        self, iterable: AsyncIterable[T], call: str | LazyText, loop: asyncio.AbstractEventLoop | None
    ) -> None:
        super().__init__(None, call)
        self.iterable = iterable
        self.loop = loop

    def discard(self) -> None:
        """Close the coroutine if it was not awaited and will not be."""
        if isinstance(self.iterable, Once):
            self.iterable.discard()
