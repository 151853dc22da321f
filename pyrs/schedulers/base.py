"""What a scheduler is: it says when and on which thread a task runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

from pyrs._core import hooks
from pyrs._core.display import name_of
from pyrs.errors import SchedulerClosed

__all__ = ["Cancellable", "Scheduler", "Task", "checked_scheduler"]

Task = Callable[[], object]
"""What a scheduler runs. Nobody looks at what it returns."""


class Cancellable(Protocol):
    """A task that was scheduled."""

    def cancel(self) -> None:
        """Do not run the task. Idempotent, from any thread; a task that runs already is not interrupted."""


class Scheduler(ABC):
    """Runs tasks, at once or after a delay, on threads of its own choice.

    Tasks are not serialised: an operator has its own serial lane. A scheduler carries no context variables; see
    ``pyrs._core.context`` for how operators do. What a task raises goes to the hook for dropped errors. On a thread of
    the scheduler's own that is so for KeyboardInterrupt and SystemExit too, and the thread goes on; on the caller's
    thread, or an asyncio loop's, those two travel on.
    """

    @abstractmethod
    def now(self) -> float:
        """Return the time in seconds on this scheduler's clock, which never goes back. Its zero means nothing."""

    @abstractmethod
    def schedule(self, task: Task, delay: float = 0.0) -> Cancellable:
        """Run the task once, after ``delay`` seconds.

        It never runs on the calling thread before this returns, except with ``inline`` and no delay.

        Args:
            task: called without arguments; what it returns is ignored.
            delay: in seconds, finite and not negative.

        Raises:
            TypeError: the task is not callable, or the delay is not a number.
            ValueError: the delay is negative or not finite.
            SchedulerClosed: it takes no more tasks.
        """

    def execute(self, task: Task) -> None:
        """Run the task once, without a delay and without a way to cancel it: the quick way, for serial lanes.

        Raises:
            TypeError: the task is not callable.
            SchedulerClosed: it takes no more tasks.
        """
        self.schedule(task)

    @abstractmethod
    def close(self, timeout: float = 5.0) -> bool:
        """Take no more tasks, and wait until those that were due have finished. Idempotent.

        A task whose delay is not over by then is never run; when its time comes the hook for dropped errors is told.

        Args:
            timeout: how many seconds to wait at most. A task that closes its own scheduler is not waited for.

        Returns:
            Whether they have finished.
        """


class Handle:
    """A task that can be cancelled until it runs. Called by whoever runs it, once."""

    __slots__ = ("_task",)

    def __init__(self, task: Task) -> None:
        self._task: Task | None = task

    def __call__(self) -> None:
        task, self._task = self._task, None  # a task that is done keeps nothing alive (3.13)
        if task is not None:
            task()

    def cancel(self) -> None:
        self._task = None

    def __repr__(self) -> str:
        task = self._task
        return f"<{type(self).__name__} {'over' if task is None else name_of(task)}>"


class Expected:
    """A delayed task for which somebody waits: he is told when it will never run, because the scheduler was closed.

    Args:
        task: the task.
        refused: called with the ``SchedulerClosed``, on a thread of the default pool, when its time has come.
    """

    __slots__ = ("_refused", "_task")

    def __init__(self, task: Task, refused: Callable[[BaseException], object]) -> None:
        self._task = task
        self._refused = refused

    def __call__(self) -> None:
        self._task()

    def refuse(self, error: BaseException) -> None:
        """Tell that it will not run."""
        from pyrs.schedulers.threads import default

        refused = self._refused
        default().execute(lambda: refused(error))


def run_reporting(task: Task, where: str) -> None:
    """Run the task. What it raises goes to the hook; an interrupt or exit travels on."""
    try:
        task()
    except BaseException as error:
        if hooks.is_exit(error):
            raise
        hooks.on_error_dropped(error, where)


def closed(scheduler: Scheduler) -> SchedulerClosed:
    """Return the error for a task that came too late."""
    return SchedulerClosed(f"{scheduler!r} takes no more tasks")


def checked_scheduler(scheduler: Scheduler | None, parameter: str = "scheduler") -> Scheduler | None:
    """Return the scheduler if it is one, or None. For operators, at assembly.

    Raises:
        TypeError: it is something else.
    """
    if scheduler is not None and not isinstance(scheduler, Scheduler):
        raise TypeError(f"{parameter} must be a Scheduler, not {type(scheduler).__name__}")
    return scheduler
