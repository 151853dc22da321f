"""How a task waits for what other threads bring: a flag that wakes it, on asyncio and on trio."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from threading import RLock
from typing import Any, Protocol

__all__ = ["AsyncioWaker", "Waker", "current_waker", "is_trio"]


class Waker(Protocol):
    """Lets one task wait until another thread, or the same one, wakes it."""

    waiting: bool
    """Whether the task waits: who signals need not wake it otherwise."""

    async def wait(self, is_ready: Callable[[], object]) -> None:
        """Wait, unless there is something already; look again on return."""

    def wake(self) -> bool:
        """Wake the task if it waits, from any thread; False if its loop is gone."""

    async def pause(self) -> None:
        """Let other tasks have their turn."""


def current_waker() -> Waker:
    """Return the waker for the task that is running.

    Raises:
        RuntimeError: no loop that we know is running.
    """
    return _TrioWaker() if is_trio() else AsyncioWaker(asyncio.get_running_loop())


def is_trio() -> bool:
    """Return whether the task that is running is one of trio's, which may be a guest on an asyncio loop."""
    trio: Any = sys.modules.get("trio")
    return trio is not None and bool(trio.lowlevel.in_trio_task())


class AsyncioWaker:
    """For a task on an asyncio loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.waiting = False
        self._loop = loop
        self._lock = RLock()  # a finalizer, run by the collector while it is held, may cancel or request
        self._waiter: asyncio.Future[None] | None = None

    async def wait(self, is_ready: Callable[[], object]) -> None:
        waiter: asyncio.Future[None] = self._loop.create_future()
        with self._lock:
            self._waiter = waiter
            self.waiting = True
        # Whoever signals after this line sees the waiter; whoever signalled before it is seen here.
        try:
            if not is_ready():
                await waiter
        finally:
            with self._lock:
                self._waiter = None
                self.waiting = False

    def wake(self) -> bool:
        with self._lock:
            waiter, self._waiter = self._waiter, None  # the first of a batch takes it
            self.waiting = False
        if waiter is None:
            return True
        try:
            if asyncio._get_running_loop() is self._loop:
                _set(waiter)
            else:
                self._loop.call_soon_threadsafe(_set, waiter)
        except RuntimeError:  # the loop was closed: nobody will ever look again
            return False
        return True

    async def pause(self) -> None:
        await asyncio.sleep(0)


def _set(waiter: asyncio.Future[Any]) -> None:
    if not waiter.done():
        waiter.set_result(None)


class _TrioWaker:
    """For a task of trio's, under anyio for example. Whoever comes here has imported trio."""

    def __init__(self) -> None:
        self._trio: Any = sys.modules["trio"]
        self._token = self._trio.lowlevel.current_trio_token()
        self.waiting = False
        self._lock = RLock()  # a finalizer, run by the collector while it is held, may cancel or request
        self._event: Any = None

    async def wait(self, is_ready: Callable[[], object]) -> None:
        event = self._trio.Event()
        with self._lock:
            self._event = event
            self.waiting = True
        try:
            if not is_ready():
                await event.wait()
        finally:
            with self._lock:
                self._event = None
                self.waiting = False

    def wake(self) -> bool:
        with self._lock:
            event, self._event = self._event, None
            self.waiting = False
        if event is None:
            return True
        try:
            self._token.run_sync_soon(event.set)
        except self._trio.RunFinishedError:
            return False
        return True

    async def pause(self) -> None:
        await self._trio.lowlevel.checkpoint()
