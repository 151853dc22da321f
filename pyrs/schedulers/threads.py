"""Schedulers on threads: the caller's thread, one thread, or a pool."""

from __future__ import annotations

import os
from time import monotonic
from weakref import WeakSet

from pyrs._core.executor import DaemonExecutor
from pyrs._core.validation import checked_callable, checked_natural, checked_seconds, checked_timeout
from pyrs.schedulers.base import Cancellable, Scheduler, Task, TaskHandle, closed, run_reporting
from pyrs.schedulers.delays import TimerThread

_timer = TimerThread(lambda task: default().execute(task))


class ThreadScheduler(Scheduler):
    """The base class of the schedulers on threads, with a clock and a shared timer."""

    def __init__(self) -> None:
        self._closed = False
        self.after_fork()
        _forkable.add(self)

    def now(self) -> float:
        return monotonic()

    def schedule(self, task: Task, delay: float = 0.0) -> Cancellable:
        checked_callable(task, "task")
        delay = checked_seconds(delay, "delay")
        if not delay:
            handle = TaskHandle(task)
            self.execute(handle)
            return handle
        if self._closed:
            raise closed(self)
        return _timer.arm(task, delay, self._execute_late)

    def _execute_late(self, task: Task) -> None:
        """Run a task whose delay has passed; called on the timer's thread."""
        self.execute(task)

    def after_fork(self) -> None:
        """Reset the scheduler in a forked child: drop the parent's threads and tasks."""


class Inline(ThreadScheduler):
    """Runs tasks on the calling thread."""

    def execute(self, task: Task) -> None:
        checked_callable(task, "task")
        if self._closed:
            raise closed(self)
        run_reporting(task, "a task run inline")

    def _execute_late(self, task: Task) -> None:
        if self._closed:
            raise closed(self)
        default().execute(task)

    def close(self, timeout: float = 5.0) -> bool:
        checked_seconds(timeout, "timeout")
        self._closed = True
        return True

    def __repr__(self) -> str:
        return "inline()"


class Pool(ThreadScheduler):
    """Runs tasks concurrently on several threads."""

    def __init__(self, max_threads: int, name: str, idle_seconds: float = 5.0) -> None:
        self._max_threads = checked_natural(max_threads, "max_threads", least=1)
        self._name = name
        self._idle_seconds = idle_seconds
        super().__init__()

    def after_fork(self) -> None:
        self._executor = DaemonExecutor(self._name, self._max_threads, self._idle_seconds)

    @property
    def closed(self) -> bool:
        """Return whether the pool accepts no more tasks."""
        return self._closed

    def execute(self, task: Task) -> None:
        checked_callable(task, "task")
        if self._closed:
            raise closed(self)
        try:
            self._executor.execute(task)
        except RuntimeError as error:
            if self._closed:  # closed during execute
                raise closed(self) from error
            raise  # the system has no more threads

    def close(self, timeout: float = 5.0) -> bool:
        timeout = checked_timeout(timeout, "timeout")
        self._closed = True
        return self._executor.shutdown(timeout)

    def __repr__(self) -> str:
        executor = self._executor
        state = f"{'closed, ' if self._closed else ''}{executor.threads} threads, {executor.backlog} queued"
        return f"<pool({self._max_threads}, {self._name!r}): {state}>"


class SingleThread(Pool):
    """Runs tasks sequentially on one thread."""

    def __init__(self, name: str, idle_seconds: float = 5.0) -> None:
        super().__init__(1, name, idle_seconds)

    def __repr__(self) -> str:
        return f"<single({self._name!r}): {'closed, ' if self._closed else ''}{self._executor.backlog} queued>"


_forkable: WeakSet[ThreadScheduler] = WeakSet()


def _after_fork() -> None:
    _timer.after_fork()
    for scheduler in list(_forkable):
        scheduler.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

_default = Pool(256, "default")


def default() -> Pool:
    """Return the pool that operators without a scheduler share.

    A closed pool is replaced by a new one.

    Examples:
        >>> default() is default()
        True
    """
    global _default
    if _default.closed:
        _default = Pool(256, "default")
    return _default
