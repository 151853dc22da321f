"""Let a task wait for other threads, on asyncio and on trio."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from threading import RLock
from typing import Any, Protocol

TURN = 128
"""The number of signals that a task handles in a row before it lets other tasks run."""


class Waker(Protocol):
    """Lets one task wait until any thread wakes it."""

    waiting: bool
    """True while the task waits; otherwise it needs no wake-up."""

    async def wait(self, is_ready: Callable[[], object]) -> None:
        """Wait unless ``is_ready`` returns true. The caller must check again on return."""

    def wake(self) -> bool:
        """Wake the task if it waits, from any thread; return False if its loop is closed."""

    async def pause(self) -> None:
        """Let other tasks run."""


def current_waker() -> Waker:
    """Return the waker for the running task.

    Raises:
        RuntimeError: neither asyncio nor trio is running.
    """
    return _TrioWaker() if is_trio() else AsyncioWaker(asyncio.get_running_loop())


def is_trio() -> bool:
    """Return whether a trio task is running, possibly as a guest on an asyncio loop."""
    trio: Any = sys.modules.get("trio")
    if trio is None:
        return False
    try:
        trio.lowlevel.current_task()  # trio has in_trio_task from version 0.27 only
    except (RuntimeError, AttributeError):  # AttributeError: another thread is importing trio
        return False
    return True


class AsyncioWaker:
    """A waker for a task on an asyncio loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.waiting = False
        self._loop = loop
        self._lock = RLock()  # reentrant: a finalizer may cancel or request while the lock is held
        self._waiter: asyncio.Future[None] | None = None

    async def wait(self, is_ready: Callable[[], object]) -> None:
        waiter: asyncio.Future[None] = self._loop.create_future()
        with self._lock:
            self._waiter = waiter
            self.waiting = True
        # A signal after this line sees the waiter; an earlier one is seen by is_ready.
        try:
            if not is_ready():
                await waiter
        finally:
            with self._lock:
                self._waiter = None
                self.waiting = False

    def wake(self) -> bool:
        with self._lock:
            waiter, self._waiter = self._waiter, None  # only the first signal of a batch wakes the task
            self.waiting = False
        if waiter is None:
            return True
        try:
            if asyncio._get_running_loop() is self._loop:
                _set(waiter)
            else:
                self._loop.call_soon_threadsafe(_set, waiter)
        except RuntimeError:  # the loop is closed
            return False
        return True

    async def pause(self) -> None:
        await asyncio.sleep(0)


def _set(waiter: asyncio.Future[Any]) -> None:
    if not waiter.done():
        waiter.set_result(None)


class _TrioWaker:
    """A waker for a trio task, for example under anyio. trio is already imported."""

    def __init__(self) -> None:
        self._trio: Any = sys.modules["trio"]
        self._token = self._trio.lowlevel.current_trio_token()
        self.waiting = False
        self._lock = RLock()  # reentrant: a finalizer may cancel or request while the lock is held
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
