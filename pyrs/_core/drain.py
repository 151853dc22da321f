"""The drain loop: any thread adds work, one thread at a time does it, none waits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final, TypeVar

from pyrs.api import R

A = TypeVar("A")

Execute = Callable[[Callable[[], None]], object]
"""Passes a task to another thread or to an asyncio loop."""

TURN: Final = 256
"""The number of elements emitted in sequence before other tasks or Subscribers get a turn."""


class DrainLoop(ABC):
    """Runs ``_work`` while ``_has_work``, never on two threads at once (§1.3).

    A thread that finds the loop running returns at once; the draining thread checks again before it returns. A call
    from inside ``_work`` never nests, which bounds the mutual recursion of ``request`` and ``on_next`` (§3.3).

    The turn is a list of one item, and the thread that deletes the item has the turn. CPython raises a
    KeyboardInterrupt only at calls and at the end of a loop's iteration, so it can occur between a lock's ``acquire``
    and the ``try`` that would release it. Between ``del turn[0]`` and the ``try`` that follows it, there is neither.

    ``execute`` passes a task to another thread or to an asyncio loop. Without it, the calling thread drains. The turn
    of a scheduled task is in ``_scheduled`` until the task begins. If ``execute`` raises, the task may still run,
    because an interrupt can occur after ``execute`` has accepted it. The thread that deletes the item of ``_scheduled``
    then has the turn.
    """

    def __init__(self, execute: Execute | None = None) -> None:
        self._execute = execute
        self._turn = [True]
        self._scheduled: list[bool] = []
        self._again = False  # work may have been added since the last check

    def _has_work(self) -> bool:
        """Return whether there is work: by default ``_again``, which ``_work`` resets."""
        return self._again

    @abstractmethod
    def _work(self) -> None:
        """Do all available work; the loop stays usable after an exception."""

    def _after_drain(self) -> None:  # noqa: B027 - most loops have nothing to do there
        """React to the end of a drain, on the draining thread, after it released the turn."""

    def is_running(self) -> bool:
        """Return whether a thread or a scheduled task has the turn."""
        return not self._turn

    def schedule(self) -> None:
        """Drain soon, on the executor if there is one, unless the loop runs.

        Raises:
            RuntimeError: the executor accepts no more tasks. The loop is idle then.
        """
        execute = self._execute  # read once: another thread may replace it by None
        if execute is None:
            self.run_here()
            return
        try:
            del self._turn[0]
        except IndexError:
            return
        scheduled = self._scheduled
        try:
            scheduled.append(True)
            execute(self._run_scheduled)
        except BaseException:
            try:
                del scheduled[0]
            except IndexError:
                pass  # the task has begun, and releases the turn
            else:
                self._turn.append(True)  # a refused task must not keep the turn
            raise

    def discarded(self, error: Exception) -> None:
        """React to an executor that will not run the task that it has accepted.

        An asyncio loop discards its tasks when it is closed.
        """
        try:
            del self._scheduled[0]
        except IndexError:
            return
        self._turn.append(True)
        self._refused(error)

    def _refused(self, error: Exception) -> None:  # noqa: B027 - only a loop with an executor needs it
        """React to an executor that refuses tasks, on any thread; the loop is idle."""

    def wake_here(self) -> None:
        """Record new work in ``_again``, and drain on this thread, not on the executor."""
        self._again = True
        self.run_here()

    def run_here(self) -> None:
        """Drain on this thread, unless another one drains."""
        turn, ran = self._turn, False
        try:
            while True:
                try:
                    del turn[0]
                except IndexError:
                    return  # the draining thread checks again
                try:
                    ran = True
                    self._work()
                finally:
                    turn.append(True)
                # Work that was added between the last check and the release is found here, or by the thread that
                # added it.
                if not self._has_work():
                    return
        except BaseException as error:
            if self._has_work():
                self._resume_after(error)
            raise
        finally:
            if ran:
                self._after_drain()

    def attempt(self, body: Callable[[A], R], argument: A) -> R | None:
        """Run ``body(argument)`` with the turn; return None if another thread has it.

        Work that is added during the call is drained afterwards. This is the fast path of an element that needs no
        queue, in loops that set ``_again``.
        """
        turn = self._turn
        try:
            del turn[0]
        except IndexError:
            return None
        try:
            try:
                result = body(argument)
            finally:
                turn.append(True)
        except BaseException as error:
            if self._again:
                self._resume_after(error)
            raise
        if self._again:  # not _has_work(), which would cost a call per element
            self.run_here()
        return result

    def _resume_after(self, error: BaseException) -> None:
        """Drain again, because an error left the loop before all work was done."""
        self.schedule()

    def _run_scheduled(self) -> None:
        """Drain on the executor, with the turn that ``schedule`` has taken."""
        try:
            del self._scheduled[0]
        except IndexError:
            return  # ``schedule`` has failed and released the turn
        try:
            self._work()
        finally:
            self._turn.append(True)
            if self._has_work():
                self.run_here()
            else:
                self._after_drain()
