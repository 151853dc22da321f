"""Detect concurrent signals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock, current_thread

from pyrs.tck.environment import TestEnvironment


class SerialGuard:
    """Records an error when calls of two threads overlap; nesting is allowed.

    The guard is held until the outermost call returns. The guard of the official TCK is released by a nested call.
    """

    def __init__(self, env: TestEnvironment, rule: str) -> None:
        self._env = env
        self._rule = rule
        self._lock = RLock()  # reentrant: signals may be nested
        self._inside = "another thread", "its call"

    @contextmanager
    def during(self, call: str) -> Iterator[None]:
        """Hold the guard during a call."""
        thread = current_thread().name
        enters = self._lock.acquire(blocking=False)
        if enters:
            self._inside = thread, call
        else:
            owner, last = self._inside
            self._env.flop(
                f"illegal concurrent access (rule {self._rule}): {thread} called {call} "
                f"before {owner} had returned from {last}"
            )
        try:
            yield
        finally:
            if enters:
                self._lock.release()
