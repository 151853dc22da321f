"""A serial lane: one body at a time, on whichever thread the executor gives it, and no lock that others wait for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from threading import Lock

__all__ = ["Lane"]


class Lane(ABC):
    """Runs ``_work`` whenever ``_has_work``, never twice at once (1.3).

    A call from inside the work never nests: that is what bounds the mutual recursion of ``request`` and ``on_next``
    (3.3). The flag is a lock that is only ever tried: taking and testing it is one step, even where an interrupt
    strikes.

    Args:
        execute: hands a task to another thread or to an asyncio loop; None runs it at once on the calling thread.
    """

    __slots__ = ("_execute", "_running")

    def __init__(self, execute: Callable[[Callable[[], None]], object] | None = None) -> None:
        self._execute = execute
        self._running = Lock()

    @abstractmethod
    def _has_work(self) -> bool:
        """Whether ``_work`` would find something to do."""

    @abstractmethod
    def _work(self) -> None:
        """Do what there is to do. What it raises, which should be an interrupt at most, leaves the lane usable."""

    def schedule(self) -> None:
        """Have the lane run soon; harmless where it runs already.

        Raises:
            RuntimeError: the executor takes no more tasks. The lane is idle then.
        """
        if self._running.acquire(blocking=False):
            if self._execute is None:
                self._run()
                return
            try:
                self._execute(self._run)
            except BaseException:
                self._running.release()  # a refused task must not leave the flag up
                raise

    def run_here(self) -> None:
        """Run the lane on this thread, unless it runs elsewhere."""
        if self._running.acquire(blocking=False):
            self._run()

    def _run(self) -> None:
        # Work that came between the last look and the release is found by the second look, or by whoever brought it.
        try:
            while True:
                try:
                    self._work()
                finally:
                    self._running.release()
                if not self._has_work() or not self._running.acquire(blocking=False):
                    return
        except BaseException:
            if self._has_work():
                self.schedule()
            raise
