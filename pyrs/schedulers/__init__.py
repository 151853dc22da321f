"""Schedulers: threads, loops and clocks that run tasks.

- ``inline()``: the calling thread; for work that is short and never blocks.
- ``single()``: one thread, sequentially; for ordered tasks, and for libraries that require a single thread.
- ``pool()``: several threads; for work that blocks.
- ``default()``: one shared pool; for time-based operators without a scheduler argument.
- ``asyncio()``: an asyncio loop; for code that belongs to the loop.
- ``VirtualTime()``: the thread that advances the clock; for tests.

A time-based operator without a scheduler argument uses that of ``with use(...)`` around ``subscribe``, else the
default.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from pyrs._core.validation import checked_string
from pyrs.errors import SchedulerClosed
from pyrs.schedulers.base import Cancellable, Scheduler, checked_scheduler, not_a_scheduler
from pyrs.schedulers.threads import Inline, Pool, SingleThread, default
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

_OTHER_NAMES = {
    **dict.fromkeys(("io", "computation", "elastic", "boundedElastic", "bounded_elastic"), "use default() or pool()"),
    **dict.fromkeys(("parallel", "thread_pool", "ThreadPoolScheduler", "from_executor"), "use pool(max_threads)"),
    **dict.fromkeys(("immediate", "trampoline", "ImmediateScheduler", "CurrentThreadScheduler"), "use inline()"),
    **dict.fromkeys(("new_thread", "NewThreadScheduler", "EventLoopScheduler"), "use single()"),
    **dict.fromkeys(("from_loop", "AsyncIOScheduler"), "use asyncio(loop)"),
    **dict.fromkeys(("virtual", "virtual_time", "VirtualTimeScheduler", "TestScheduler"), "use VirtualTime()"),
}

_used: ContextVar[Scheduler | None] = ContextVar("pyrs_scheduler", default=None)


def inline() -> Scheduler:
    """Return a scheduler that runs tasks immediately, on the calling thread.

    A delayed task runs on the default pool. A task that schedules itself again without a delay recurses without a
    bound.

    Examples:
        >>> inline().execute(lambda: print("here"))
        here
    """
    return Inline()


def single(name: str = "single") -> Scheduler:
    """Return a scheduler that runs tasks sequentially, on one daemon thread.

    The thread starts with the first task and ends after five idle seconds; the next task starts a new one. A blocking
    task delays the tasks behind it, whose queue is unbounded.

    Args:
        name: the thread is named ``pyrs-<name>-<number>``.

    Examples:
        >>> scheduler, seen = single(), []
        >>> for n in (1, 2, 3):
        ...     scheduler.execute(lambda n=n: seen.append(n))
        >>> scheduler.close()
        True
        >>> seen
        [1, 2, 3]
    """
    return SingleThread(checked_string(name, "name"))


def pool(max_threads: int = 256, name: str = "pool") -> Scheduler:
    """Return a scheduler that runs tasks concurrently, on several daemon threads.

    It starts up to four threads immediately, and more if no task has started for 20 ms because all are blocked.
    Threads end after five idle seconds. When ``max_threads`` are busy, the scheduler warns once, and tasks wait in an
    unbounded queue.

    Args:
        max_threads: the maximum number of threads.
        name: the threads are named ``pyrs-<name>-<number>``.

    Raises:
        TypeError: ``max_threads`` is not an integer, or ``name`` is not a string.
        ValueError: ``max_threads`` is less than 1.
    """
    return Pool(max_threads, checked_string(name, "name"))


def asyncio(loop: AbstractEventLoop | None = None) -> Scheduler:
    """Return a scheduler that runs tasks on an asyncio loop.

    Tasks may be scheduled from any thread, and must not block. A closed loop accepts no more tasks and discards its
    pending ones. A stream that waits for a discarded task, unless for a timer, fails with ``SchedulerClosed``.

    Args:
        loop: the loop; None for the running one.

    Raises:
        RuntimeError: ``loop`` is None and no loop is running on this thread.
        TypeError: ``loop`` is not an event loop.
    """
    from pyrs.schedulers.loop import LoopScheduler  # asyncio is a slow import

    return LoopScheduler(loop)


def current(scheduler: Scheduler | None = None) -> Scheduler:
    """Return the given scheduler, else that of ``use``, else the default one.

    Operators call this on subscribe.

    Raises:
        TypeError: ``scheduler`` is neither a Scheduler nor None.
    """
    given = checked_scheduler(scheduler)
    if given is None:
        given = _used.get()
    return default() if given is None else given


@contextmanager
def use(scheduler: S) -> Iterator[S]:
    """Make this scheduler the default for streams subscribed to inside the block.

    It applies on this thread or in this asyncio task, to operators without a scheduler argument.

    Raises:
        TypeError: ``scheduler`` is not a Scheduler.

    Examples:
        >>> with use(VirtualTime()) as time:
        ...     current() is time
        True
    """
    if not isinstance(scheduler, Scheduler):
        raise not_a_scheduler(scheduler)
    token = _used.set(scheduler)
    try:
        yield scheduler
    finally:
        _used.reset(token)


if not TYPE_CHECKING:  # a type checker would accept every attribute

    def __getattr__(name: str) -> object:
        advice = f": {_OTHER_NAMES[name]}" if name in _OTHER_NAMES else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{advice}")
