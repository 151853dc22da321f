"""A serial lane: one body at a time, on whichever thread the executor gives it."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable


class Lane(ABC):
    """Runs `_work` whenever `_has_work`, never twice at once, with no lock held that another thread waits for.

    The flag is a lock that is only ever tried: taking and testing it is one step, even where an interrupt strikes.
    """

    __slots__ = ("_execute", "_running")

    def __init__(self, execute: Callable[[Callable[[], None]], object]) -> None:
        self._execute = execute
        self._running = threading.Lock()

    @abstractmethod
    def _has_work(self) -> bool:
        """Whether `_work` would find something to do."""

    @abstractmethod
    def _work(self) -> None:
        """Do what there is to do; must not raise."""

    def schedule(self) -> None:
        """Have the lane run soon; harmless where it runs already."""
        if self._running.acquire(blocking=False):
            self._execute(self._run)

    def run_here(self) -> None:
        """Run the lane on this thread, unless it runs elsewhere."""
        if self._running.acquire(blocking=False):
            self._run()

    def _run(self) -> None:
        # Work that came between the last look and the release is found by the second look, or by whoever brought it.
        while True:
            try:
                self._work()
            finally:
                self._running.release()
            if not self._has_work() or not self._running.acquire(blocking=False):
                return
