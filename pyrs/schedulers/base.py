"""Scheduler: the interface that determines when and on which thread a task runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

from pyrs._core import hooks
from pyrs._core.display import name_of
from pyrs.errors import SchedulerClosed

Task = Callable[[], object]
"""A task for a scheduler. Its result is ignored."""


class Cancellable(Protocol):
    """A scheduled task."""

    def cancel(self) -> None:
        """Cancel the task, unless it is already running.

        Idempotent. May be called on any thread.
        """


class Scheduler(ABC):
    """Runs tasks, immediately or after a delay, on the threads that it chooses.

    Tasks are not serialized; each operator has its own drain loop. A scheduler does not propagate context variables;
    see ``pyrs._core.context`` for how operators do. An exception of a task is reported to the dropped-errors hook. On
    the caller's thread or on an asyncio loop, KeyboardInterrupt, SystemExit and RecursionError propagate instead; the
    scheduler's own threads report them too, and continue.
    """

    @abstractmethod
    def now(self) -> float:
        """Return the monotonic clock's time in seconds since an arbitrary moment."""

    @abstractmethod
    def schedule(self, task: Task, delay: float = 0.0) -> Cancellable:
        """Run the task once, after ``delay`` seconds.

        The task does not run on the calling thread before this method returns, except with ``inline`` and no delay.

        Args:
            task: called without arguments; its result is ignored.
            delay: the delay in seconds, finite and not negative.

        Raises:
            TypeError: ``task`` is not callable, or ``delay`` is not a number.
            ValueError: ``delay`` is negative or not finite.
            SchedulerClosed: the scheduler is closed.
        """

    def execute(self, task: Task) -> None:
        """Run the task once, without a delay and without a way to cancel it.

        This is the fast path for drain loops.

        Raises:
            TypeError: ``task`` is not callable.
            SchedulerClosed: the scheduler is closed.
        """
        self.schedule(task)

    @abstractmethod
    def close(self, timeout: float = 5.0) -> bool:
        """Accept no more tasks, and wait until the due ones have finished; idempotent.

        A task that is not yet due never runs, and is reported to the dropped-errors hook when it is due. With
        ``asyncio()`` and ``VirtualTime`` it still runs.

        Args:
            timeout: the maximum number of seconds to wait. A task that closes its own scheduler is not waited for.

        Returns:
            True if the tasks have finished in time.
        """


class TaskHandle:
    """A task that its scheduler calls once, and that can be cancelled before."""

    __slots__ = ("_task",)

    def __init__(self, task: Task) -> None:
        self._task: Task | None = task

    def __call__(self) -> None:
        task, self._task = self._task, None  # a finished task references nothing (§3.13)
        if task is not None:
            task()

    def cancel(self) -> None:
        self._task = None

    def __repr__(self) -> str:
        task = self._task
        return f"<{type(self).__name__} {'over' if task is None else name_of(task)}>"


class OwnedTask:
    """A delayed task whose owner is notified if a closed scheduler will not run it.

    ``refused`` is called with the ``SchedulerClosed``, on a thread of the default pool, when the task is due.
    """

    def __init__(self, task: Task, refused: Callable[[BaseException], object]) -> None:
        self._task = task
        self.refused = refused

    def __call__(self) -> None:
        self._task()


def run_reporting(task: Task, where: str) -> None:
    """Run the task and report its exception; an interrupt or exit propagates."""
    try:
        task()
    except BaseException as error:
        hooks.report(error, where)


def closed(scheduler: Scheduler) -> SchedulerClosed:
    """Return the error of a task that was submitted after ``close``."""
    return SchedulerClosed(f"{scheduler!r} takes no more tasks")


def checked_scheduler(scheduler: Scheduler | None, parameter: str = "scheduler") -> Scheduler | None:
    """Return the scheduler, or None; reject other objects.

    Operators call this at assembly.

    Raises:
        TypeError: ``scheduler`` is neither a Scheduler nor None.
    """
    if scheduler is not None and not isinstance(scheduler, Scheduler):
        raise not_a_scheduler(scheduler, parameter)
    return scheduler


def not_a_scheduler(value: object, parameter: str = "scheduler") -> TypeError:
    """Return the error for an argument that is not a Scheduler, with advice."""
    advice = ""
    if callable(value) and str(getattr(value, "__module__", "")).startswith("pyrs.schedulers"):
        advice = f": call it, {name_of(value)}()"
    elif hasattr(value, "call_soon_threadsafe"):
        advice = ": use schedulers.asyncio(loop)"
    elif callable(getattr(value, "submit", None)):
        advice = ": use schedulers.pool(max_threads)"
    return TypeError(f"{parameter} must be a Scheduler, not {type(value).__name__}{advice}")
