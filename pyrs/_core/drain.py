"""One body at a time, however many ask for it, and no lock held while it runs."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

__all__ = ["SerialDrain", "run_inline"]

_IDLE, _SCHEDULED, _RUNNING, _AGAIN = range(4)


def run_inline(task: Callable[[], None]) -> None:
    """Run the task at once on the calling thread: the executor of drains that need none."""
    task()


class SerialDrain:
    """Runs ``body`` on an executor, serially (1.3), and at least once after every ``schedule()``.

    Calls that come while the body waits for its turn or runs are coalesced into one more run. A call from inside the
    body never recurses: that is what bounds the mutual recursion of ``request`` and ``on_next`` (3.3), also inline.

    Args:
        execute: hands a task to a thread, an asyncio loop, or runs it at once.
        body: the work. It looks at everything there is to do each time that it runs.
    """

    __slots__ = ("_body", "_execute", "_lock", "_runs", "_state")

    def __init__(self, execute: Callable[[Callable[[], None]], object], body: Callable[[], None]) -> None:
        self._execute = execute
        self._body = body
        self._lock = Lock()
        self._state = _IDLE
        self._runs = 0

    def schedule(self) -> None:
        """Have the body run once more.

        Raises:
            RuntimeError: the executor takes no more tasks. The drain is idle then.
        """
        with self._lock:
            state = self._state
            if state == _IDLE:
                self._state = _SCHEDULED
            elif state == _RUNNING:
                self._state = _AGAIN
        if state == _IDLE:
            self._hand_over()

    def _hand_over(self) -> None:
        runs = self._runs
        try:
            self._execute(self._run)
        except BaseException:
            # A refused task must not leave the flag up, or nothing would run ever again. A body that was run inline and
            # raised has put it down itself.
            with self._lock:
                if self._runs == runs:
                    self._state = _IDLE
            raise

    def _run(self) -> None:
        try:
            self._runs += 1
            while True:
                with self._lock:
                    self._state = _RUNNING
                self._body()
                with self._lock:
                    if self._state == _RUNNING:
                        self._state = _IDLE
                        return
        except BaseException:
            # Whether the body raised or an interrupt came between two lines of ours: no flag stays up, and what was
            # asked for meanwhile is not lost.
            with self._lock:
                again, self._state = self._state == _AGAIN, _SCHEDULED
                if not again:
                    self._state = _IDLE
            if again:
                self._hand_over()
            raise
