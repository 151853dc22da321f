"""Queues of threads, processes and asyncio, as sources of a stream and as its end."""

from __future__ import annotations

import asyncio
import queue as threads
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any, Protocol, TypeVar, overload

from pyrs._core import hooks
from pyrs._core.context import bound_executor, capture
from pyrs._core.coordinator import Coordinator
from pyrs._core.display import short
from pyrs._core.drain import DrainLoop
from pyrs._core.operator import Operator
from pyrs._core.validation import MISSING, checked_element, checked_publisher, checked_seconds
from pyrs.aio.iteration import elements
from pyrs.aio.sources import AsyncIterablePublisher
from pyrs.api import Publisher, Subscriber
from pyrs.operators import terminal
from pyrs.schedulers import Scheduler, checked_scheduler, current
from pyrs.schedulers.loop import LoopScheduler
from pyrs.stream.stream import Stream

__all__ = ["from_queue", "to_queue"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)

_WAIT_SECONDS = 0.1
"""So long a queue is waited for before the thread looks whether the stream was cancelled."""

# What a queue raises that was shut down: from Python 3.13 on.
_SHUT_DOWN: tuple[type[Exception], ...] = tuple(
    getattr(module, name)
    for module, name in ((threads, "ShutDown"), (asyncio, "QueueShutDown"))
    if hasattr(module, name)
)


class Readable(Protocol[T_co]):
    """``queue.Queue``, ``queue.SimpleQueue``, ``multiprocessing.Queue``, and what is like them."""

    def get(self, block: bool = ..., timeout: float | None = ...) -> T_co: ...
    def get_nowait(self) -> T_co: ...


class Writable(Protocol[T_contra]):
    """``queue.Queue``, ``queue.SimpleQueue``, ``multiprocessing.Queue``, and what is like them."""

    def put(self, item: T_contra, block: bool = ..., timeout: float | None = ...) -> None: ...
    def put_nowait(self, item: T_contra) -> None: ...


def from_queue(
    queue: Readable[T] | asyncio.Queue[T], *, end: object = MISSING, scheduler: Scheduler | None = None
) -> Stream[T]:
    """Return a stream of what is taken out of a queue.

        put(1)  put(2)     put(end)
        from_queue(queue, end=end)
        ---1-------2----------|

    Exact demand: an element is taken out when it is demanded, and not before. Several Subscribers share what is there.
    The end is known when it is taken out, which takes demand too. A queue that was shut down (Python 3.13) ends the
    stream when it is empty.

    A queue of threads or processes is waited for by a thread of the scheduler, as long as there is demand; the
    Subscriber is signalled there. A cancel is seen within a tenth of a second. A queue of asyncio is awaited by a task
    on its loop, which a cancel cancels. An element that was just taken out when the cancel came is lost, and the hook
    for dropped elements told.

    Args:
        queue: of ``queue``, ``multiprocessing`` or asyncio.
        end: what stands for the end in the queue, by identity or, where the type is the same, by ``==``; it may be
            None, which is no element. Without one the stream does not complete.
        scheduler: whose thread waits; the default pool when None. For a queue of asyncio ``schedulers.asyncio(loop)``,
            or None for the loop that runs where this is called, else where somebody subscribes.

    Raises:
        TypeError: it is not a queue that can be waited for with a timeout, or the scheduler does not fit.

    Rules: 1.1, 1.4, 1.5, 3.5, 3.9; a None that is not the end fails the stream with ``NullSignal``.

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
            raise TypeError(f"scheduler must be that of the queue's loop, schedulers.asyncio(loop), not {scheduler!r}")
        loop = asyncio._get_running_loop() if scheduler is None else scheduler.loop
        return Stream(AsyncIterablePublisher(_Drained(queue, end), f"from_queue({short(queue)})", loop))
    _checked_queue(queue, "get")
    return Stream(_QueuePublisher(queue, end, scheduler))


@overload
def to_queue(stream: Publisher[T], queue: asyncio.Queue[T], *, end: object = MISSING) -> Awaitable[None]: ...
@overload
def to_queue(
    stream: Publisher[T], queue: Writable[T], *, end: object = MISSING, timeout: float | None = None
) -> None: ...
def to_queue(
    stream: Publisher[T], queue: Any, *, end: object = MISSING, timeout: float | None = None
) -> Awaitable[None] | None:
    """Put every element of a stream into a queue and return at the end; with a queue of asyncio, await that.

        ---1---2---|
        to_queue(stream, queue, end=end)
        put(1)  put(2)  put(end)

    Demand: one element after the other, the next when the one before is in the queue. So a queue with a ``maxsize``
    slows the stream, and one without grows. A queue of threads or processes is filled by the calling thread, which
    waits where the queue is full; do not call it so on an asyncio loop.

    Args:
        stream: any Publisher.
        queue: of ``queue``, ``multiprocessing`` or asyncio.
        end: what to put in when the stream has completed, and also when it has failed, so that nobody waits for ever.
            It is not put in where there was no room in time, nor after an interrupt or a cancelled task.
        timeout: the most seconds to wait for room, or for an element of another thread. Around an ``await`` put
            ``asyncio.wait_for``.

    Raises:
        TypeError: the stream is no Publisher, or the queue no queue.
        TimeoutError: there was no room, or no element, in time. The stream was cancelled.
        BaseException: what the stream failed with.

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
            raise TypeError("timeout goes with a queue of threads; put asyncio.wait_for around the await")
        return _fill_awaiting(source, queue, end)
    _checked_queue(queue, "put")
    _fill(source, queue, end, None if timeout is None else checked_seconds(timeout, "timeout"))
    return None


def _checked_queue(queue: Any, method: str) -> None:
    for name in (method, f"{method}_nowait"):  # multiprocessing.SimpleQueue cannot wait with a timeout, and lacks it
        if not callable(getattr(queue, name, None)):
            raise TypeError(
                f"queue must be a queue of threads, processes or asyncio: {type(queue).__name__} has no {name}()"
            )


def _is(element: object, end: object) -> bool:
    return element is end or (type(element) is type(end) and element == end)  # pickled: the same, but not identical


# From a queue of threads or processes.


class _QueuePublisher(Operator[Any]):
    def __init__(self, queue: Readable[Any], end: object, scheduler: Scheduler | None) -> None:
        super().__init__(None, f"from_queue({short(queue)})")
        self.queue = queue
        self.end = end
        self.scheduler = scheduler

    def run(self, subscriber: Subscriber[Any]) -> _Taking:
        return _Taking(subscriber, self)


class _Taking(Coordinator[Any]):
    """One Subscriber's part of a queue: a thread takes elements out, the lane signals them."""

    def __init__(self, subscriber: Subscriber[Any], operator: _QueuePublisher) -> None:
        super().__init__(subscriber, operator)
        self._queue = operator.queue
        self._end_mark = operator.end
        self._taken = 0  # written by the thread that takes
        self._begun = self._used_up = False
        self._arrived: deque[Any] = deque()
        self._taker = _Taker(self, bound_executor(current(operator.scheduler), capture()))

    def _begin(self) -> None:
        self._begun = True
        self._take()

    def _requested_more(self, n: int) -> None:
        self._take()

    def _take(self) -> None:
        if self.wants_more():
            try:
                self._taker.schedule()
            except RuntimeError as error:  # the scheduler is closed
                self.post(self._fail, error)

    def wants_more(self) -> bool:
        """Whether there is something to take an element out for."""
        return self._live and self._begun and not self._used_up and self._taken < self._requested

    def take_demanded(self) -> None:
        """Take out what was demanded, waiting for it. On a thread of the scheduler, one at a time."""
        while self.wants_more():
            try:
                element = self._queue.get(timeout=_WAIT_SECONDS)
            except threads.Empty:
                continue
            except _SHUT_DOWN:
                self._end_of_queue(self._end_well)
                return
            except BaseException as error:
                self._end_of_queue(self._raised, error)
                return
            if _is(element, self._end_mark):
                self._end_of_queue(self._end_well)
                return
            self._taken += 1
            self._arrived.append(element)
            self.wake()
        if not self._live:
            self._drop_arrived()

    def _end_of_queue(self, handler: Callable[[Any], object], argument: object = None) -> None:
        self._used_up = True
        self.post(handler, argument)

    def _advance(self) -> None:
        while self._arrived and self._live:
            try:
                element = checked_element(self._arrived.popleft(), "the queue")
            except TypeError as error:
                self._raised(error)
            else:
                self._emit(element)

    def _end_well(self, _: object) -> None:
        self._advance()  # what was taken out before
        self._complete()

    def _release(self) -> None:
        self._drop_arrived()

    def _drop_arrived(self) -> None:
        lost = 0
        while self._arrived:
            try:
                self._arrived.popleft()
            except IndexError:  # the other thread drops them too
                break
            lost += 1
        hooks.on_next_dropped(lost, f"{self._operator.call}: taken out when the stream was cancelled", cancelled=True)


class _Taker(DrainLoop):
    """Has one thread at a time take elements out, and none while there is no demand."""

    __slots__ = ("_owner",)

    def __init__(self, owner: _Taking, execute: Callable[[Callable[[], None]], None]) -> None:
        super().__init__(execute)
        self._owner = owner

    def _has_work(self) -> bool:
        return self._owner.wants_more()

    def _work(self) -> None:
        self._owner.take_demanded()


# From a queue of asyncio.


class _Drained(AsyncIterable[T]):
    """What is taken out of a queue of asyncio."""

    def __init__(self, queue: asyncio.Queue[T], end: object) -> None:
        self._queue = queue
        self._end = end

    async def __aiter__(self) -> AsyncIterator[T]:
        while True:
            try:
                element = await self._queue.get()
            except _SHUT_DOWN:
                return
            if _is(element, self._end):
                return
            yield element


# Into a queue.


def _fill(source: Publisher[Any], queue: Writable[Any], end: object, timeout: float | None) -> None:
    def put(item: object) -> None:
        try:
            queue.put(item, timeout=timeout)
        except threads.Full:
            raise TimeoutError(f"there was no room in the queue within {timeout} seconds") from None

    arriving = terminal.to_iterable(source, 1, timeout)
    close: Callable[[], None] = arriving.close  # type: ignore[attr-defined]  # both are generators
    try:
        while True:
            try:
                element = next(arriving)
            except Exception as error:  # the stream's, and not what put() raises: then nobody takes the end either
                if end is not MISSING:
                    put(end)
                if isinstance(error, StopIteration):
                    return
                raise
            put(element)
    finally:
        close()


async def _fill_awaiting(source: Publisher[Any], queue: asyncio.Queue[Any], end: object) -> None:
    arriving = elements(source, 1)
    try:
        while True:
            try:
                element = await anext(arriving)
            except Exception as error:
                if end is not MISSING:
                    await queue.put(end)
                if isinstance(error, StopAsyncIteration):
                    return
                raise
            await queue.put(element)
    finally:
        await arriving.aclose()
