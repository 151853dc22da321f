"""A serial lane: one body at a time, on whichever thread the executor gives it, and no lock that others wait for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

__all__ = ["DrainLoop"]


class DrainLoop(ABC):
    """Runs ``_work`` whenever ``_has_work``, never twice at once (1.3).

    A call from inside the work never nests: that is what bounds the mutual recursion of ``request`` and ``on_next``
    (3.3). The turn is a list of one item, and whoever deletes the item has it. The interpreter handles signals between
    calls, so an interrupt may strike between a lock's ``acquire`` and the ``try`` that would release it; there is no
    call between a ``del`` and the ``try`` behind it.

    Args:
        execute: hands a task to another thread or to an asyncio loop; None runs it at once on the calling thread.
    """

    __slots__ = ("_execute", "_turn")

    def __init__(self, execute: Callable[[Callable[[], None]], object] | None = None) -> None:
        self._execute = execute
        self._turn = [True]

    @abstractmethod
    def _has_work(self) -> bool:
        """Whether ``_work`` would find something to do."""

    @abstractmethod
    def _work(self) -> None:
        """Do what there is to do. What it raises, which should be an interrupt at most, leaves the lane usable."""

    def _left(self) -> None:  # noqa: B027 - most lanes have nothing to do there
        """Called by a thread that has run the lane, after it has left it."""

    def is_running(self) -> bool:
        """Return whether a thread runs the lane, or is about to."""
        return not self._turn

    def schedule(self) -> None:
        """Have the lane run soon; harmless where it runs already.

        Raises:
            RuntimeError: the executor takes no more tasks. The lane is idle then.
        """
        if self._execute is None:
            self.run_here()
            return
        try:
            del self._turn[0]
        except IndexError:
            return
        try:
            self._execute(self._run)
        except BaseException:
            self._turn.append(True)  # a refused task must not keep the turn
            raise

    def run_here(self) -> None:
        """Run the lane on this thread, unless it runs elsewhere."""
        turn, ran = self._turn, False
        try:
            while True:
                try:
                    del turn[0]
                except IndexError:
                    return  # who runs it looks again
                try:
                    ran = True
                    self._work()
                finally:
                    turn.append(True)
                # Work that came between the last look and the release is found here, or by whoever brought it.
                if not self._has_work():
                    return
        except BaseException:
            if self._has_work():
                self.schedule()
            raise
        finally:
            if ran:
                self._left()

    def _run(self) -> None:
        """Run the lane, whose turn came with the task."""
        try:
            self._work()
        finally:
            self._turn.append(True)
            if not self._has_work():
                self._left()
            else:
                self.run_here()
