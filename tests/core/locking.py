"""Helpers that check whether a lock is held when an element is released or a scheduler is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyrs.schedulers import Cancellable, Scheduler, VirtualTime
from tests.waiting import run_on_threads

__all__ = ["Element", "LockCheckingScheduler", "is_free"]


class Element:
    """Runs an action when it is released."""

    def __init__(self, action: Callable[[], object]) -> None:
        self.action = action

    def __del__(self) -> None:
        self.action()


def is_free(lock: Any) -> bool:
    """Return whether another thread could acquire the lock."""
    free: list[bool] = []

    def try_lock() -> None:
        free.append(lock.acquire(blocking=False))
        if free[0]:
            lock.release()

    run_on_threads(try_lock)
    return free[0]


class LockCheckingScheduler(Scheduler):
    """A user-defined scheduler that records whether the lock is free when its methods are called."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        self.lock: Any = None
        self.free: list[bool] = []

    def _record(self) -> None:
        if self.lock is not None:
            self.free.append(is_free(self.lock))

    def now(self) -> float:
        return self.time.now()

    def schedule(self, task: Callable[[], object], delay: float = 0.0) -> Cancellable:
        self._record()
        handle = self.time.schedule(task, delay)
        scheduler = self

        class Handle(Cancellable):
            def cancel(self) -> None:
                scheduler._record()
                handle.cancel()

        return Handle()

    def execute(self, task: Callable[[], object]) -> None:
        self.time.execute(task)

    def close(self, timeout: float = 5.0) -> bool:
        return self.time.close(timeout)
