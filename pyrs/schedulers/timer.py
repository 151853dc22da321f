"""The timer of operators: one deadline that can be moved, cleared and closed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any

from pyrs._core import hooks
from pyrs._core.blocked_threads import blocked_error
from pyrs._core.context import bound, capture
from pyrs.schedulers import Cancellable, Scheduler, current
from pyrs.schedulers.base import OwnedTask

if TYPE_CHECKING:
    from pyrs._core.coordinator import Coordinator


class Timer:
    """Calls an action on the scheduler when a deadline has passed.

    Moving the deadline to a later time costs no new task: the task that is scheduled checks the deadline and schedules
    itself again. Therefore at most one task waits, however often the deadline moves. The timer captures the context
    variables and the current scheduler where it is created, which is in ``subscribe``. ``refused`` is called with the
    error if the scheduler is closed before the deadline.

    An owner that calls ``clear`` or ``claim`` under a lock of its own passes that lock, which must be reentrant. With
    two locks, one thread could hold the lock of the owner and wait for that of the timer, and a finalizer the reverse.

    Attributes:
        deadline: the time at which the timer fires; None if it is not set, or has passed.
        fired: whether the deadline has passed; reset by ``set``, ``clear`` and ``claim``.
        now: returns the time on the scheduler's clock.
    """

    def __init__(
        self,
        scheduler: Scheduler | None,
        action: Callable[[], object],
        refused: Callable[[BaseException], object],
        lock: RLock | None = None,
    ) -> None:
        self.scheduler = current(scheduler)
        self.now = self.scheduler.now
        # The error for a scheduler on the loop that the subscriber's thread stalls, else None; raised by ``set``.
        self._stalled = blocked_error(getattr(self.scheduler, "loop", None))
        self.fired = False
        self._action = action
        self._refused = refused
        self._context = capture()
        self._lock = lock or RLock()  # reentrant: the collector may run a finalizer that cancels while the lock is held
        self.deadline: float | None = None
        self._scheduled: float | None = None  # when the task runs, which is not after the deadline
        self._number = 0  # the number of the latest task; an older task has no effect
        self._handle: Cancellable | None = None
        self._closed = False

    def set(self, deadline: float) -> None:
        """Set or move the deadline, on the scheduler's clock; callable on any thread.

        Raises:
            SchedulerClosed: the scheduler accepts no more tasks; a third-party one may raise another error.
            RuntimeError: the scheduler runs tasks on the loop that the thread of the subscriber stalls.
        """
        if self._stalled is not None:
            raise self._stalled
        with self._lock:
            if self._closed:
                return
            self.fired = False
            self.deadline = deadline
            if self._scheduled is not None and self._scheduled <= deadline:
                return
            before, self._handle = self._handle, None
            number = self._next(deadline)
        hooks.cancel_safely(before)
        self._schedule(deadline, number)

    def set_after(self, seconds: float) -> None:
        """Set the deadline to ``seconds`` from now; raise the errors of ``set``."""
        self.set(self.now() + seconds)

    def clear(self) -> None:
        """Remove the deadline; callable on any thread, and under a lock."""
        with self._lock:
            self.deadline = None
            self.fired = False

    def cancel(self) -> None:
        """Remove the deadline and cancel its task; callable on any thread."""
        with self._lock:
            self.clear()
            self._scheduled = None
            self._number += 1
            handle, self._handle = self._handle, None
        hooks.cancel_safely(handle)  # of a third-party scheduler; the caller releases its inputs after this

    def claim(self) -> bool:
        """Return whether the deadline has passed, and reset ``fired``."""
        with self._lock:
            fired, self.fired = self.fired, False
        return fired

    def close(self) -> None:
        """Never call the action again; idempotent, callable on any thread."""
        self._closed = True
        self.cancel()

    def _next(self, time: float) -> int:
        self._scheduled = time
        self._number += 1
        return self._number

    def _schedule(self, time: float, number: int) -> None:
        # Called outside the lock: the scheduler may run a task that is already due at once.
        task = OwnedTask(bound(partial(self._run, number), self._context), bound(self._refused, self._context))
        handle = self.scheduler.schedule(task, max(0.0, time - self.now()))
        with self._lock:
            if number == self._number and not self._closed:
                self._handle = handle
                return
        hooks.cancel_safely(handle)

    def _run(self, number: int) -> None:
        now = self.now()  # not under the lock: the clock of a third-party scheduler may run any code
        with self._lock:
            if self._closed or number != self._number:
                return
            deadline = self.deadline
            if deadline is None:
                self._scheduled = None
                return
            # The task is early only if the deadline was moved. Otherwise it counts as due, even if the clock is behind.
            early = deadline > now and self._scheduled is not None and deadline > self._scheduled
            if early:
                number = self._next(deadline)
            else:
                self._scheduled = self.deadline = self._handle = None
                self._number += 1  # if schedule() has not returned yet, its handle is not stored
                self.fired = True
        if not early:
            self._action()
            return
        try:
            self._schedule(deadline, number)
        except Exception as error:  # closed; a third-party scheduler may raise any error
            self._refused(error)


def waking_timer(owner: Coordinator[Any], scheduler: Scheduler | None) -> Timer:
    """Return a timer that wakes a coordinator, or fails it if the scheduler is closed."""
    return Timer(scheduler, owner.wake, lambda error: owner.post_end(owner._fail, error))
