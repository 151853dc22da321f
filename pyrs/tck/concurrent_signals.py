"""Detect concurrent signals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, current_thread

from pyrs.tck.environment import TestEnvironment


class SerialGuard:
    """Records an error when calls of two threads overlap; nesting is allowed.

    The guard is held until the outermost call returns. The guard of the official TCK is released by a nested call.
    """

    def __init__(self, env: TestEnvironment, rule: str) -> None:
        self._env = env
        self._rule = rule
        self._lock = Lock()
        self._owner: object = None
        self._depth = 0
        self._last = ""

    @contextmanager
    def during(self, call: str) -> Iterator[None]:
        """Hold the guard during a call."""
        me = current_thread()
        with self._lock:
            owner, last = self._owner, self._last
            enters = owner is None or owner is me
            if enters:
                self._owner = me
                self._depth += 1
                self._last = call
        if not enters:
            self._env.flop(
                f"illegal concurrent access (rule {self._rule}): {me.name} called {call} "
                f"before {getattr(owner, 'name', owner)} had returned from {last}"
            )
        try:
            yield
        finally:
            if enters:
                with self._lock:
                    self._depth -= 1
                    if self._depth == 0:
                        self._owner = None
