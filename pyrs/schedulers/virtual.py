"""VirtualTime: a scheduler whose clock a test advances."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import ulp
from threading import Lock

from pyrs._core.validation import checked_callable, checked_seconds
from pyrs.schedulers.base import Cancellable, Scheduler, Task, closed, run_reporting
from pyrs.schedulers.delays import Delayed, DelayQueue


class VirtualTime(Scheduler):
    """A scheduler with a manual clock; tasks run on the thread that advances it.

    Tasks run in the order of their time, then of their scheduling. While a task runs, the clock shows the task's time.
    A task scheduled by another task runs in the same advance if it is due. Times that differ by less than a nanosecond
    are equal, because a sum of floats is not exact: ``0.1 + 2 * 0.1 > 0.3``. For times since 1970 the limit is a
    microsecond. Any thread may schedule; one thread at a time may advance the clock.

    Examples:
        >>> time = VirtualTime()
        >>> _ = time.schedule(lambda: print("tick at", time.now()), delay=60)
        >>> time.advance_by(59)
        >>> time.advance_by(1)
        tick at 60.0
    """

    def __init__(self) -> None:
        self._now = 0.0
        self._queue = DelayQueue()
        self._closed = False
        self._advancing = Lock()

    def now(self) -> float:
        return self._now

    @property
    def pending(self) -> int:
        """Return the number of tasks that have neither run nor been cancelled."""
        return len(self._queue)

    def schedule(self, task: Task, delay: float = 0.0) -> Cancellable:
        checked_callable(task, "task")
        delay = checked_seconds(delay, "delay")
        entry = Delayed(task, self._queue, self.execute)
        with self._queue.lock:
            if self._closed:
                raise closed(self)
            self._queue.add(self._now + delay, entry)
        return entry

    def advance_by(self, seconds: float) -> None:
        """Advance the clock by ``seconds`` and run the tasks that become due.

        Raises:
            ValueError: ``seconds`` is negative or not finite.
            RuntimeError: another thread is advancing the clock, or a task of this clock calls this method.
        """
        seconds = checked_seconds(seconds, "seconds")
        with self._exclusively():
            self._run_until(self._now + seconds)

    def advance_to(self, time: float) -> None:
        """Advance the clock to ``time`` and run the tasks that become due.

        Raises:
            ValueError: ``time`` is in the past, or not finite.
            RuntimeError: another thread is advancing the clock, or a task of this clock calls this method.
        """
        time = checked_seconds(time, "time")
        with self._exclusively():
            if _rounded_up(time) < self._now:
                raise ValueError(f"time must not be in the past: it is {time}, and the clock is at {self._now}")
            self._run_until(time)

    def run(self) -> None:
        """Run the due tasks without advancing the clock.

        Raises:
            RuntimeError: another thread is advancing the clock, or a task of this clock calls this method.
        """
        self.advance_by(0.0)

    @contextmanager
    def _exclusively(self) -> Iterator[None]:
        if not self._advancing.acquire(blocking=False):
            raise RuntimeError("the clock is already being advanced")
        try:
            yield
        finally:
            self._advancing.release()

    def _run_until(self, end: float) -> None:
        queue, latest = self._queue, _rounded_up(end)
        while True:
            with queue.lock:
                due = queue.earliest()
                if due is None or due > latest:
                    self._now = max(self._now, end)
                    return
                self._now = due
                entry = queue.pop()
            run_reporting(entry, "a task in virtual time")
            del entry

    def close(self, timeout: float = 5.0) -> bool:
        """Accept no more tasks, without waiting.

        Pending tasks still run when the clock is advanced.

        Args:
            timeout: not used, but validated.

        Returns:
            True if no task is pending.
        """
        checked_seconds(timeout, "timeout")
        with self._queue.lock:
            self._closed = True
            return not len(self._queue)

    def __repr__(self) -> str:
        return f"<VirtualTime at {self._now}: {'closed, ' if self._closed else ''}{self.pending} pending>"


def _rounded_up(time: float) -> float:
    """Return the latest time that equals this one, apart from rounding."""
    return time + max(1e-9, 4 * ulp(time))
