"""Schedulers: on which thread a task runs, and when.

- ``inline()``: the calling thread; for work that is short and never blocks.
- ``single()``: one thread, sequentially; for ordered tasks, and for libraries that require a single thread.
- ``pool()``: several threads; for work that blocks.
- ``default()``: one shared pool; for time-based operators without a scheduler argument.
- ``asyncio()``: an asyncio loop; for code that belongs to the loop.
- ``VirtualTime()``: the thread that advances the clock; for tests.

An operator on time that is given none uses the one of ``with use(...)`` around its ``subscribe``, else the default.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from pyrs.errors import SchedulerClosed
from pyrs.schedulers.base import Cancellable, Scheduler, checked_scheduler
from pyrs.schedulers.threads import Inline, Pool, Single, default
from pyrs.schedulers.virtual import VirtualTime

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

__all__ = [
    "Cancellable",
    "Scheduler",
    "SchedulerClosed",
    "VirtualTime",
    "asyncio",
    "checked_scheduler",
    "current",
    "default",
    "inline",
    "pool",
    "single",
    "use",
]

S = TypeVar("S", bound=Scheduler)

_used: ContextVar[Scheduler | None] = ContextVar("pyrs_scheduler", default=None)


def inline() -> Scheduler:
    """Return a scheduler that runs tasks at once, on the thread that brings them.

    A task with a delay runs on the default pool when its time has come: no thread waits for it. A task that schedules
    itself again without a delay nests without a bound.

    Examples:
        >>> inline().execute(lambda: print("here"))
        here
    """
    return Inline()


def single(name: str = "single") -> Scheduler:
    """Return a scheduler that runs tasks in their order, one at a time, on a daemon thread of its own.

    The thread starts with the first task and ends when it was idle for five seconds; the next task starts another one.
    A task that blocks holds up those behind it, and they queue up without a bound.

    Args:
        name: the thread is called ``pyrs-<name>-<number>``.

    Examples:
        >>> scheduler, seen = single(), []
        >>> for n in (1, 2, 3):
        ...     scheduler.execute(lambda n=n: seen.append(n))
        >>> scheduler.close()
        True
        >>> seen
        [1, 2, 3]
    """
    return Single(_checked_name(name))


def pool(max_threads: int = 256, name: str = "pool") -> Scheduler:
    """Return a scheduler that runs tasks on several daemon threads, in no order.

    There are up to four threads, more only while all of them are blocked, and none after five idle seconds. When
    ``max_threads`` are busy it warns once, and tasks queue up without a bound.

    Args:
        max_threads: the most threads there are at a time.
        name: the threads are called ``pyrs-<name>-<number>``.

    Raises:
        TypeError: max_threads is not an integer, or the name no string.
        ValueError: max_threads is less than 1.
    """
    return Pool(max_threads, _checked_name(name))


def asyncio(loop: AbstractEventLoop | None = None) -> Scheduler:
    """Return a scheduler that runs tasks on an asyncio loop, brought from any thread.

    When the loop is closed it takes no more tasks, and those that waited are lost with the loop. Tasks must not block.

    Args:
        loop: the running one when None.

    Raises:
        RuntimeError: no loop is given and none runs on this thread.
        TypeError: the loop is none.
    """
    from pyrs.schedulers.loop import LoopScheduler  # only whoever asks for it pays for asyncio

    return LoopScheduler(loop)


def current(scheduler: Scheduler | None = None) -> Scheduler:
    """Return the scheduler if it is one, else that of ``use``, else the default. For operators, at subscribe time.

    Raises:
        TypeError: it is something else.
    """
    given = checked_scheduler(scheduler)
    if given is None:
        given = _used.get()
    return default() if given is None else given


@contextmanager
def use(scheduler: S) -> Iterator[S]:
    """Use this scheduler, in this thread or task, for streams that are subscribed to here and were given no other.

    Raises:
        TypeError: it is not a Scheduler.

    Examples:
        >>> with use(VirtualTime()) as time:
        ...     current() is time
        True
    """
    if not isinstance(scheduler, Scheduler):
        raise TypeError(f"scheduler must be a Scheduler, not {type(scheduler).__name__}")
    token = _used.set(scheduler)
    try:
        yield scheduler
    finally:
        _used.reset(token)


def _checked_name(name: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, not {type(name).__name__}")
    return name
