"""The asyncio edge: a Publisher as an asynchronous iterator with exact, bounded demand. The loop is never blocked."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from threading import Lock, get_ident
from typing import Any, TypeVar

from pyrs._core.fusion import pull
from pyrs._core.iterating import IterablePublisher
from pyrs._core.refill import Refill
from pyrs._core.stage import FoldStage
from pyrs._core.staged import StagedPublisher
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import NullSignal, SpecViolation

__all__ = ["elements", "single"]

T = TypeVar("T")

_PREFETCH = 256
_TURN = 128
"""So many elements of a source that is always ready are delivered before other tasks get their turn."""


async def elements(source: Publisher[T], prefetch: int) -> AsyncGenerator[T, None]:
    """Iterate over a Publisher on the running loop.

    Demand: ``prefetch`` elements, the first time that the loop asks for one, and again when three quarters of them were
    used; with 1 that is each element as it is wanted. A chain over an iterable is pulled on the loop itself, as a plain
    generator would be, and lets other tasks run every 128 elements. Signals may come from any thread. Ending the
    iteration, however that happens (``aclose``, an error, a cancelled task), cancels upstream; so does a loop that was
    closed.

    Raises:
        BaseException: what the stream failed with.
    """
    if isinstance(source, IterablePublisher):
        pulled = pull(source.iterable, source.stages)
        try:
            turn = 0
            for element in pulled:
                yield element
                turn += 1
                if turn == _TURN:
                    turn = 0
                    await asyncio.sleep(0)
        finally:
            pulled.close()
        return
    inbox: _Inbox[T] = _Inbox(asyncio.get_running_loop(), prefetch)
    try:
        source.subscribe(inbox)
        arrived, refill = inbox.arrived, inbox.refill
        turn = 0
        while True:
            if not arrived:
                if inbox.ended:
                    # Read in this order: what came before the end is in the deque by the time that ended is set.
                    if arrived:
                        continue
                    if inbox.error is not None:
                        raise inbox.error
                    return
                await inbox.wait()
                turn = 0
                continue
            yield arrived.popleft()
            # Only now: the element before was used up when the loop asks for this one.
            refill.taken()
            turn += 1
            if turn == _TURN:
                turn = 0
                await asyncio.sleep(0)
    finally:
        inbox.close()


class _Inbox(Subscriber[T]):
    """Holds at most ``prefetch`` elements for the loop and wakes it once for all that gathered meanwhile.

    Rules: 2.1, 2.2, 2.4, 2.5, 2.6, 2.7, 2.11, 2.13.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, prefetch: int) -> None:
        self.arrived: deque[T] = deque()
        self.refill = Refill(prefetch)
        self.error: BaseException | None = None
        self.ended = False
        self._loop = loop
        self._loop_thread = get_ident()
        self._lock = Lock()
        self._waiter: asyncio.Future[None] | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.refill.begin(subscription)

    def on_next(self, element: T, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        self.arrived.append(element)
        if self._waiter is not None:
            self._wake()

    def on_error(self, error: BaseException, /) -> None:
        if error is None:
            raise NullSignal("on_error(None)")
        self.error = error
        self.on_complete()

    def on_complete(self) -> None:
        self.refill.end()
        self.ended = True
        self._wake()

    async def wait(self) -> None:
        """Wait, on the loop, until there is something to look at."""
        waiter: asyncio.Future[None] = self._loop.create_future()
        with self._lock:
            self._waiter = waiter
        # Whoever signals after this line sees the waiter; whoever signalled before it is seen here.
        if self.arrived or self.ended:
            self._waiter = None
            return
        try:
            await waiter
        finally:
            self._waiter = None

    def close(self) -> None:
        """Cancel, unless the stream is over."""
        self.ended = True
        self.arrived.clear()
        self.refill.cancel()

    def _wake(self) -> None:
        with self._lock:
            waiter, self._waiter = self._waiter, None  # the first of a batch takes it; the others have nothing to do
        if waiter is None:
            return
        if get_ident() == self._loop_thread:
            _set(waiter)
            return
        try:
            self._loop.call_soon_threadsafe(_set, waiter)
        except RuntimeError:  # the loop was closed: nobody will ever take an element
            self.close()


def _set(waiter: asyncio.Future[Any]) -> None:
    if not waiter.done():
        waiter.set_result(None)


async def single(source: Publisher[T]) -> T:
    """Return the one element of a Publisher that gives exactly one.

    Where the last stage folds, the elements before it are taken as the loop has time for them, so that a long
    synchronous source does not hold the loop.

    Raises:
        BaseException: what the stream failed with.
    """
    if isinstance(source, (IterablePublisher, StagedPublisher)) and isinstance(source.stages[-1], FoldStage):
        fold = source.stages[-1]
        step, result = fold.begin()
        upstream: Publisher[Any]
        if isinstance(source, IterablePublisher):
            upstream = IterablePublisher(source.iterable, source.stages[:-1], source.name)
        else:
            upstream = StagedPublisher(source.source, source.stages[:-1]) if source.stages[1:] else source.source
        async for element in elements(upstream, _PREFETCH):
            try:
                step(element)
            except BaseException as error:
                fold.blame(error)
                raise
        last: T = result()
        return last
    async for element in elements(source, 1):
        return element
    raise SpecViolation("a Single must give one element, and gave none", party="Publisher")
