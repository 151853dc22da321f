"""Let a task wait for other threads, on asyncio and on trio."""

from __future__ import annotations

import asyncio
import sys
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from threading import RLock
from typing import Any

TURN = 128
"""The number of signals that a task handles in a row before it lets other tasks run."""


class Waker(ABC):
    """Lets one task wait until any thread wakes it."""

    def __init__(self, new_waiter: Callable[[], Any]) -> None:
        self.waiting = False  # whether the task waits; otherwise it needs no wake-up
        self._new_waiter = new_waiter
        self._lock = RLock()  # reentrant: a finalizer may cancel or request while the lock is held
        self._waiter: Any = None

    async def wait(self, is_ready: Callable[[], object]) -> None:
        """Wait unless ``is_ready`` returns true. The caller must check again on return."""
        waiter = self._new_waiter()
        with self._lock:
            self._waiter = waiter
            self.waiting = True
        # A signal after this line sees the waiter; an earlier one is seen by is_ready.
        try:
            if not is_ready():
                await self._woken(waiter)
        finally:
            with self._lock:
                self._waiter = None
                self.waiting = False

    def wake(self) -> bool:
        """Wake the task if it waits, from any thread; return False if its loop is closed."""
        with self._lock:
            waiter, self._waiter = self._waiter, None  # only the first signal of a batch wakes the task
            self.waiting = False
        return waiter is None or self._wake(waiter)

    @abstractmethod
    def _woken(self, waiter: Any) -> Awaitable[object]:
        """Return an awaitable that ends when the waiter is woken."""

    @abstractmethod
    def _wake(self, waiter: Any) -> bool:
        """Wake the waiter, from any thread; return False if the loop is closed."""

    @abstractmethod
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


class AsyncioWaker(Waker):
    """A waker for a task on an asyncio loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop.create_future)
        self._loop = loop

    def _woken(self, waiter: asyncio.Future[None]) -> asyncio.Future[None]:
        return waiter

    def _wake(self, waiter: asyncio.Future[None]) -> bool:
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


def _set(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


class _TrioWaker(Waker):
    """A waker for a trio task, for example under anyio. trio is already imported."""

    def __init__(self) -> None:
        self._trio: Any = sys.modules["trio"]
        super().__init__(self._trio.Event)
        self._token = self._trio.lowlevel.current_trio_token()

    def _woken(self, waiter: Any) -> Awaitable[object]:
        return waiter.wait()  # type: ignore[no-any-return]

    def _wake(self, waiter: Any) -> bool:
        try:
            self._token.run_sync_soon(waiter.set)
        except self._trio.RunFinishedError:
            return False
        return True

    async def pause(self) -> None:
        await self._trio.lowlevel.checkpoint()
