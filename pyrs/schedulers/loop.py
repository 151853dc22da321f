"""LoopScheduler: runs tasks on an asyncio loop.

Imported on first use, because asyncio is a slow import.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from functools import partial
from threading import Event
from typing import Any

from pyrs._core.validation import checked_callable, checked_seconds, checked_timeout
from pyrs.aio.loops import call_on, is_here
from pyrs.schedulers.base import Cancellable, Scheduler, Task, TaskHandle, closed, run_reporting
from pyrs.schedulers.threads import default

_WHERE = "a task on an asyncio loop"


class LoopScheduler(Scheduler):
    """Runs tasks as callbacks of an asyncio loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None) -> None:
        if loop is None:
            loop = asyncio._get_running_loop()
            if loop is None:
                raise RuntimeError("no asyncio loop runs on this thread: pass one, schedulers.asyncio(loop)")
        elif not isinstance(loop, asyncio.AbstractEventLoop):
            raise TypeError(f"loop must be an asyncio event loop, not {type(loop).__name__}")
        self.loop = loop
        self._closed = False

    def now(self) -> float:
        return self.loop.time()

    def execute(self, task: Task) -> None:
        checked_callable(task, "task")
        self._check_open()
        self.call(run_reporting, task, _WHERE)

    def execute_owned(self, task: Task, discarded: Callable[[Exception], object]) -> None:
        """Run the task, and notify its owner if the loop is closed before.

        ``discarded`` is called with a ``SchedulerClosed``, on a thread of the default pool.
        """
        self._check_open()
        owned = _OwnedTask(task, discarded, self)
        try:
            self.call(run_reporting, owned, _WHERE)
        except BaseException:
            owned.forget()
            raise
        if self.loop.is_closed() and owned.forget():  # perhaps added after close() had emptied the queue
            raise closed(self)

    def schedule(self, task: Task, delay: float = 0.0) -> Cancellable:
        checked_callable(task, "task")
        delay = checked_seconds(delay, "delay")
        self._check_open()
        if not delay:
            handle = TaskHandle(task)
            self.call(run_reporting, handle, _WHERE)
            return handle
        timed = _TimedTask(task, self)
        due = self.loop.time() + delay
        if is_here(self.loop):
            timed.arm(due)
        else:
            self.call(timed.arm, due)
        return timed

    def _check_open(self) -> None:
        if self._closed:
            raise closed(self)

    def call(self, function: Any, *arguments: Any) -> None:
        """Schedule a call on the loop, even if this scheduler is closed.

        Raises:
            SchedulerClosed: the loop is closed.
        """
        try:
            call_on(self.loop, None, function, *arguments)  # a scheduler does not propagate the caller's context
        except RuntimeError:
            if self.loop.is_closed():
                raise closed(self) from None
            raise

    def close(self, timeout: float = 5.0) -> bool:
        """Accept no more tasks; the loop stays open and runs the accepted ones.

        Args:
            timeout: the maximum number of seconds to wait. On the loop's own thread there is no wait.

        Returns:
            True if the due tasks have run, or if the loop is closed and has therefore discarded them.
        """
        timeout = checked_timeout(timeout, "timeout")
        self._closed = True
        if self.loop.is_closed():
            return True
        if is_here(self.loop):
            return False
        drained = Event()
        try:
            self.call(drained.set)  # the loop runs callbacks in order, so this one runs after the due tasks
        except RuntimeError:
            return True
        return drained.wait(timeout)

    def __repr__(self) -> str:
        return f"<asyncio({self.loop!r}){': closed' if self._closed or self.loop.is_closed() else ''}>"


class _OwnedTask(TaskHandle):
    """A task on the loop, whose owner is notified if the loop discards it."""

    def __init__(self, task: Task, discarded: Callable[[Exception], object], scheduler: LoopScheduler) -> None:
        super().__init__(task)
        self._discarded = discarded
        self._scheduler = scheduler

    def forget(self) -> bool:
        """Never run the task; return whether it has not begun."""
        task, self._task = self._task, None
        return task is not None

    def __del__(self) -> None:
        if self._task is not None:  # close() of the loop has released it
            with suppress(RuntimeError):  # the interpreter is exiting
                default().execute(partial(self._discarded, closed(self._scheduler)))


class _TimedTask(TaskHandle):
    """A delayed task on the loop, whose timer only the loop's thread uses."""

    def __init__(self, task: Task, scheduler: LoopScheduler) -> None:
        super().__init__(task)
        self._scheduler = scheduler
        self._timer: asyncio.TimerHandle | None = None

    def arm(self, due: float) -> None:
        """Start the loop's timer, on the loop."""
        if self._task is not None:
            self._timer = self._scheduler.loop.call_at(due, run_reporting, self, _WHERE, context=Context())

    def cancel(self) -> None:
        if self._task is None:
            return
        self._task = None
        if is_here(self._scheduler.loop):
            self._disarm()
            return
        with suppress(RuntimeError):  # the loop is closed and has discarded its timers
            self._scheduler.call(self._disarm)

    def _disarm(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
