"""Schedulers on threads: the caller's thread, one thread, or a pool."""

from __future__ import annotations

import os
from abc import abstractmethod
from contextvars import Context
from itertools import count
from queue import Empty, SimpleQueue
from threading import RLock, Thread, current_thread
from time import monotonic
from weakref import WeakSet

from pyrs._core import hooks
from pyrs._core.executor import DaemonExecutor, ended
from pyrs._core.validation import checked_callable, checked_natural, checked_seconds
from pyrs.schedulers.base import Cancellable, Scheduler, Task, TaskHandle, closed, run_reporting
from pyrs.schedulers.delays import TimerThread

__all__ = ["Inline", "Pool", "SingleThread", "ThreadScheduler", "default"]

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

    @abstractmethod
    def execute(self, task: Task) -> None: ...

    def _execute_late(self, task: Task) -> None:
        """Run a task whose delay has passed. Called on the timer's thread."""
        self.execute(task)

    def after_fork(self) -> None:
        """Reset: a forked child has no threads of its parent and must not run its tasks."""


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


class SingleThread(ThreadScheduler):
    """Runs tasks sequentially on one thread."""

    _numbers = count(1)

    def __init__(self, name: str, idle_seconds: float = 5.0) -> None:
        self._name = name
        self._idle_seconds = idle_seconds
        super().__init__()

    def after_fork(self) -> None:
        self._lock = RLock()  # reentrant: a finalizer may run under it, and submit a task
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._thread: Thread | None = None

    def execute(self, task: Task) -> None:
        checked_callable(task, "task")
        with self._lock:
            if self._closed:
                raise closed(self)
            thread = self._new_thread() if self._thread is None else None
            self._tasks.put(task)
        if thread is not None:
            self._start(thread, task)

    def _new_thread(self) -> Thread | None:
        name = f"pyrs-{self._name}-{next(self._numbers)}"
        # In an empty context: on a free-threaded Python it would inherit that of its starter.
        thread = Thread(target=Context().run, args=(self._work, self._tasks), name=name, daemon=True)
        if self._thread is not None:
            return None  # a finalizer has started it
        self._thread = thread
        return thread

    def _start(self, thread: Thread, task: Task) -> None:
        """Start the thread outside the lock, which a finalizer on it may need."""
        try:
            thread.start()
        except BaseException:
            with self._lock:
                self._thread = None
                for _ in range(self._tasks.qsize()):  # remove the rejected task, keep those of other threads
                    each = self._tasks.get()
                    if each is not task:
                        self._tasks.put(each)
            raise

    def _work(self, tasks: SimpleQueue[Task | None]) -> None:
        while True:
            try:
                task = tasks.get(timeout=self._idle_seconds)
            except Empty:
                with self._lock:
                    self._thread = None  # before the check: a task submitted later starts a new thread
                    idle = tasks.empty()
                    if idle or self._thread is not None:  # a finalizer may have started one
                        return
                    self._thread = current_thread()  # a task was submitted between the deadline and the lock
                continue
            if task is None:
                return
            try:
                task()
            except BaseException as error:  # also SystemExit, which would end this thread silently
                hooks.on_error_dropped(error, f"on thread {current_thread().name}")
            del task  # the thread must not keep a finished task alive (§3.13)

    def close(self, timeout: float = 5.0) -> bool:
        timeout = checked_seconds(timeout, "timeout")
        with self._lock:
            self._closed = True
            thread = self._thread
            if thread is not None:
                self._tasks.put(None)
        if thread is None or thread is current_thread():
            return True
        return ended(thread, timeout)

    def __repr__(self) -> str:
        return f"<single({self._name!r}): {'closed, ' if self._closed else ''}{self._tasks.qsize()} queued>"


class Pool(ThreadScheduler):
    """Runs tasks concurrently on several threads."""

    def __init__(self, max_threads: int, name: str) -> None:
        self._max_threads = checked_natural(max_threads, "max_threads", least=1)
        self._name = name
        super().__init__()

    def after_fork(self) -> None:
        self._executor = DaemonExecutor(self._name, self._max_threads)

    @property
    def closed(self) -> bool:
        """Return whether it accepts no more tasks."""
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
        timeout = checked_seconds(timeout, "timeout")
        self._closed = True
        return self._executor.shutdown(timeout)

    def __repr__(self) -> str:
        executor = self._executor
        state = f"{'closed, ' if self._closed else ''}{executor.threads} threads, {executor.backlog} queued"
        return f"<pool({self._max_threads}, {self._name!r}): {state}>"


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

    If it was closed, a new one replaces it.

    Examples:
        >>> default() is default()
        True
    """
    global _default
    if _default.closed:
        _default = Pool(256, "default")
    return _default
