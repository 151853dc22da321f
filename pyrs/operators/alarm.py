"""One timer for a time that moves: what every operator on time waits with."""

from __future__ import annotations

from functools import partial
from threading import RLock
from typing import Any

from pyrs._core.context import bound, capture
from pyrs._core.coordinator import Coordinator
from pyrs.errors import SchedulerClosed
from pyrs.schedulers import Cancellable, Scheduler, current
from pyrs.schedulers.base import Expected

__all__ = ["Alarm"]


class Alarm:
    """Sets ``rang`` and wakes a coordinator when a time has come.

    To set it later costs no new timer: the one that is armed looks when it goes off, and arms itself again. So however
    many elements move the time, at most one timer waits. It is made while somebody subscribes: it takes his context
    variables along, and his scheduler if none is given.

    Args:
        owner: is woken.
        scheduler: has the clock; the current one when None.

    Attributes:
        rang: whether the time has come; the owner clears it, on its lane.
    """

    __slots__ = (
        "_armed",
        "_closed",
        "_context",
        "_due",
        "_handle",
        "_lock",
        "_number",
        "_owner",
        "now",
        "rang",
        "scheduler",
    )

    def __init__(self, owner: Coordinator[Any], scheduler: Scheduler | None) -> None:
        self._owner = owner
        self.scheduler = current(scheduler)
        self.now = self.scheduler.now
        self.rang = False
        self._context = capture()
        self._lock = RLock()  # a finalizer, run by the collector while it is held, may cancel or request
        self._due: float | None = None  # when it is to ring
        self._armed: float | None = None  # when the timer goes off, which is no later
        self._number = 0  # of the timer that counts; another one comes too late
        self._handle: Cancellable | None = None
        self._closed = False

    def set(self, due: float) -> None:
        """Ring at that time, and not before. From any thread.

        Raises:
            SchedulerClosed: the scheduler takes no more tasks.
        """
        with self._lock:
            if self._closed:
                return
            self._due = due
            if self._armed is not None and self._armed <= due:
                return
            before, self._handle = self._handle, None
            number = self._next(due)
        if before is not None:
            before.cancel()
        self._arm(due, number)

    def close(self) -> None:
        """Never ring again. From any thread; idempotent."""
        with self._lock:
            self._closed = True
            handle, self._handle = self._handle, None
        if handle is not None:
            handle.cancel()

    def _next(self, due: float) -> int:
        self._armed = due
        self._number += 1
        return self._number

    def _arm(self, due: float, number: int) -> None:
        # Outside the lock: a task that is due already may be run at once.
        task = Expected(bound(partial(self._go_off, number), self._context), self._refused)
        handle = self.scheduler.schedule(task, max(0.0, due - self.now()))
        with self._lock:
            if number == self._number and not self._closed:
                self._handle = handle
                return
        handle.cancel()

    def _refused(self, error: BaseException) -> None:
        self._owner.post(self._owner._fail, error)

    def _go_off(self, number: int) -> None:
        now = self.now()  # not under the lock: the clock may be anybody's
        with self._lock:
            due = self._due
            if self._closed or number != self._number or due is None:
                return
            early = due > now
            if early:
                number = self._next(due)
            else:
                self._armed = self._due = None
        if not early:
            self.rang = True
            self._owner.wake()
            return
        try:
            self._arm(due, number)
        except SchedulerClosed as error:
            self._owner.post(self._owner._fail, error)
