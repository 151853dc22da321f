"""Queues of threads, processes and asyncio as sources and targets of streams."""

from __future__ import annotations

import asyncio
import queue as queues
from collections.abc import AsyncIterable, AsyncIterator, Awaitable
from contextlib import aclosing, closing, suppress
from typing import Any, Protocol, TypeVar, overload

from pyrs._core import hooks
from pyrs._core.context import bound_executor, capture
from pyrs._core.coordinator import Coordinator
from pyrs._core.display import call_of, kind_of, short
from pyrs._core.operator import Operator
from pyrs._core.validation import MISSING, checked_element, checked_publisher, checked_timeout
from pyrs.aio.iteration import elements
from pyrs.aio.sources import AsyncIterablePublisher
from pyrs.aio.tasks import is_cancel
from pyrs.api import Publisher, Subscriber
from pyrs.operators import terminal
from pyrs.schedulers import Scheduler, VirtualTime, checked_scheduler, current
from pyrs.schedulers.loop import LoopScheduler
from pyrs.stream.stream import Stream

__all__ = ["from_queue", "to_queue"]

S = TypeVar("S", bound="Scheduler | None")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)

_WAIT_SECONDS = 0.1
"""The interval at which a thread that waits for a queue checks for a cancel."""

# The errors that the methods of a shut-down queue raise, from Python 3.13.
_SHUT_DOWN: tuple[type[Exception], ...] = tuple(
    getattr(module, name)
    for module, name in ((queues, "ShutDown"), (asyncio, "QueueShutDown"))
    if hasattr(module, name)
)


class Readable(Protocol[T_co]):
    """A queue to read, such as ``queue.Queue`` or ``multiprocessing.Queue``."""

    def get(self, block: bool = ..., timeout: float | None = ...) -> T_co: ...
    def get_nowait(self) -> T_co: ...


class Writable(Protocol[T_contra]):
    """A queue to write, such as ``queue.Queue`` or ``multiprocessing.Queue``."""

    def put(self, item: T_contra, block: bool = ..., timeout: float | None = ...) -> None: ...
    def put_nowait(self, item: T_contra) -> None: ...


def from_queue(
    queue: Readable[T] | asyncio.Queue[T], *, end: object = MISSING, scheduler: Scheduler | None = None
) -> Stream[T]:
    """Return a stream of the elements taken from a queue.

        put(1)  put(2)     put(end)
        from_queue(queue, end=end)
        ---1-------2----------|

    Demand is exact: an element, or ``end``, is taken from the queue only when an element is demanded. Several
    Subscribers compete for the elements. A shut-down queue (Python 3.13) completes the stream when it is empty.

    For a queue of threads or processes, a thread of the scheduler waits while there is demand, and emits the elements;
    that thread detects a cancel within 0.1 seconds. For an asyncio queue, a task on the loop of the queue waits; a
    cancel cancels the task. An element taken just before a cancel is lost and reported to the dropped-elements hook.

    Args:
        queue: a queue of ``queue``, ``multiprocessing`` or asyncio.
        end: the object in the queue that completes the stream, compared by identity, or by ``==`` for the same type.
            None is allowed. Without ``end`` the stream does not complete.
        scheduler: the scheduler whose thread waits; None for the current one. For an asyncio queue
            ``schedulers.asyncio(loop)``, or None for the loop that is running at this call, else at ``subscribe``.

    Raises:
        TypeError: ``queue`` is not a queue with a timed wait, or the scheduler does not fit the queue; in the stream,
            if that is the current scheduler.

    Rules: 1.1, 1.4, 1.5, 3.5, 3.9. A None that is not ``end`` fails the stream with ``NullSignal``.

    Examples:
        >>> from queue import Queue
        >>> queue = Queue()
        >>> for each in ("to", "be", None):
        ...     queue.put(each)
        >>> from_queue(queue, end=None).collect()
        ['to', 'be']
    """
    checked_scheduler(scheduler)
    if isinstance(queue, asyncio.Queue):
        if scheduler is not None and not isinstance(scheduler, LoopScheduler):
            raise TypeError(f"scheduler must be schedulers.asyncio(loop), with the queue's loop, not {scheduler!r}")
        loop = asyncio._get_running_loop() if scheduler is None else scheduler.loop
        return Stream(
            AsyncIterablePublisher(_AsyncQueueElements(queue, end), call_of("from_queue", short, queue), loop)
        )
    _checked_queue(queue, "get")
    return Stream(_QueuePublisher(queue, end, _waiting(scheduler)))


@overload
def to_queue(stream: Publisher[T], queue: asyncio.Queue[T], *, end: object = MISSING) -> Awaitable[None]: ...
@overload
def to_queue(
    stream: Publisher[T], queue: Writable[T], *, end: object = MISSING, timeout: float | None = None
) -> None: ...
def to_queue(
    stream: Publisher[T], queue: Any, *, end: object = MISSING, timeout: float | None = None
) -> Awaitable[None] | None:
    """Put every element of a stream into a queue, and return on completion.

        ---1---2---|
        to_queue(stream, queue, end=end)
        put(1)  put(2)  put(end)

    With an asyncio queue, returns an awaitable. Requests the next element when the previous one is in the queue: a
    queue with a ``maxsize`` slows the stream, one without **grows**. A queue of threads or processes is
    filled on the calling thread, which blocks while the queue is full; do not do that on an asyncio loop.

    Args:
        stream: any Publisher.
        queue: a queue of ``queue``, ``multiprocessing`` or asyncio.
        end: the object to put after completion or failure, so that readers do not wait forever. It is not put if the
            queue rejects an element, as after ``timeout``, if the await is cancelled, or if the queue is full after a
            KeyboardInterrupt or SystemExit.
        timeout: the maximum number of seconds to wait for capacity, or for an element. Not for an asyncio queue.

    Raises:
        TypeError: ``stream`` is not a Publisher, ``queue`` is not a queue, ``timeout`` is not a number, or it is given
            for an asyncio queue.
        ValueError: ``timeout`` is negative or not finite.
        TimeoutError: the queue stayed full, or no element arrived, for ``timeout`` seconds. The stream was cancelled.
        BaseException: the error of the stream.

    Examples:
        >>> import pyrs
        >>> from queue import SimpleQueue
        >>> queue = SimpleQueue()
        >>> to_queue(pyrs.range(2), queue, end="end")
        >>> queue.get(), queue.get(), queue.get()
        (0, 1, 'end')
    """
    publisher = checked_publisher(stream, "stream")
    source = publisher.source if isinstance(publisher, Stream) else publisher
    if isinstance(queue, asyncio.Queue):
        if timeout is not None:
            raise TypeError("to_queue: timeout requires a queue of threads; use asyncio.wait_for around the await")
        return _fill_asyncio(source, queue, end)
    _checked_queue(queue, "put")
    _fill(source, queue, end, None if timeout is None else checked_timeout(timeout, "timeout"))
    return None


def _checked_queue(queue: Any, method: str) -> None:
    if isinstance(queue, type):
        raise TypeError(f"queue must be a queue of threads, processes or asyncio, not {kind_of(queue)}")
    for name in (method, f"{method}_nowait"):  # multiprocessing.SimpleQueue has no _nowait methods and no timed wait
        if not callable(getattr(queue, name, None)):
            raise TypeError(
                f"queue must be a queue of threads, processes or asyncio: {type(queue).__name__} has no {name}()"
            )


def _waiting(scheduler: S) -> S:
    """Return the scheduler; reject one whose loop or clock the wait would stop."""
    if isinstance(scheduler, (LoopScheduler, VirtualTime)):
        raise TypeError(
            f"scheduler must have threads, such as schedulers.pool(): the wait for the queue would block {scheduler!r}"
        )
    return scheduler


def _is_end(element: object, end: object) -> bool:
    # An ``end`` that was pickled, by a queue of processes, is equal but not identical.
    return element is end or (type(element) is type(end) and element == end)


# From a queue of threads or processes


class _QueueRun(Coordinator[Any]):
    """One subscription; its drain loop waits for the queue on the scheduler."""

    def __init__(self, subscriber: Subscriber[Any], operator: _QueuePublisher) -> None:
        super().__init__(subscriber, operator, bound_executor(_waiting(current(operator.scheduler)), capture()))
        self._queue = operator.queue
        self._end = operator.end

    def _release(self) -> None:
        pass

    def _advance(self) -> None:
        while self._demand() > 0 and not self._interrupted:
            try:
                element = self._queue.get(timeout=_WAIT_SECONDS)
                ended = _is_end(element, self._end)
                if not ended:
                    checked_element(element, "the queue")
            except queues.Empty:
                continue
            except _SHUT_DOWN:
                ended = True
            except BaseException as error:
                self._raised(error)
                return
            if ended:
                self._complete()
            else:
                self._emit(element)

    def _discard(self, element: Any) -> None:
        """Report an element that was taken from the queue before the cancel."""
        hooks.on_next_dropped(1, f"{self._call}: taken from the queue before the cancel", cancelled=True)
        super()._discard(element)


class _QueuePublisher(Operator[Any]):
    run_type = _QueueRun

    def __init__(self, queue: Readable[Any], end: object, scheduler: Scheduler | None) -> None:
        super().__init__(None, call_of("from_queue", short, queue))
        self.queue = queue
        self.end = end
        self.scheduler = scheduler


# From an asyncio queue


class _AsyncQueueElements(AsyncIterable[T]):
    """The elements taken from an asyncio queue."""

    def __init__(self, queue: asyncio.Queue[T], end: object) -> None:
        self._queue = queue
        self._end = end

    async def __aiter__(self) -> AsyncIterator[T]:
        while True:
            try:
                element = await self._queue.get()
            except _SHUT_DOWN:
                return
            if _is_end(element, self._end):
                return
            yield element


# Into a queue


_INTERRUPTS = (KeyboardInterrupt, SystemExit)


def _fill(source: Publisher[Any], queue: Writable[Any], end: object, timeout: float | None) -> None:
    def put(item: object, failure: BaseException | None = None) -> None:
        try:
            queue.put(item, timeout=timeout)
        except queues.Full:
            raise TimeoutError(f"the queue was full for {timeout} seconds") from failure

    with closing(terminal.to_iterable(source, 1, timeout)) as incoming:  # type: ignore[type-var]  # both are generators
        while True:
            try:
                element = next(incoming)
            except BaseException as error:  # not an error of put(), after which end could not be put either
                completed = isinstance(error, StopIteration)
                if end is not MISSING:
                    if isinstance(error, _INTERRUPTS):
                        with suppress(Exception):  # raises the interrupt even if the queue is full
                            queue.put_nowait(end)
                    else:
                        put(end, None if completed else error)
                if completed:
                    return
                raise
            put(element)


async def _fill_asyncio(source: Publisher[Any], queue: asyncio.Queue[Any], end: object) -> None:
    async with aclosing(elements(source, 1)) as incoming:
        while True:
            try:
                element = await anext(incoming)
            except BaseException as error:
                if end is not MISSING and not is_cancel(error):
                    if isinstance(error, _INTERRUPTS):
                        with suppress(Exception):
                            queue.put_nowait(end)
                    else:
                        await queue.put(end)
                if isinstance(error, StopAsyncIteration):
                    return
                raise
            await queue.put(element)
