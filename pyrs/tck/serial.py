"""Watches that signals come one after another, and how deep they are nested."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, current_thread, local

from pyrs.tck.environment import TestEnvironment

__all__ = ["Depth", "SerialGuard"]


class SerialGuard:
    """Flops when two threads are inside at the same time. One thread may enter again.

    The Java kit's guard lets go when a nested signal ends; this one when the outermost does.

    Args:
        env: where to flop.
        rule: the rule that is broken then.
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
        """Inside of a call."""
        owned = self._enter(call)
        try:
            yield
        finally:
            if owned:
                self._leave()

    def _enter(self, call: str) -> bool:
        me = current_thread()
        with self._lock:
            owner, last = self._owner, self._last
            if owner is None or owner is me:
                self._owner = me
                self._depth += 1
                self._last = call
                return True
        self._env.flop(
            f"illegal concurrent access (rule {self._rule}): {me.name} called {call} "
            f"before {getattr(owner, 'name', owner)} had returned from {last}"
        )
        return False

    def _leave(self) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._owner = None


class Depth(local):
    """How deep this thread is inside of on_next."""

    now = 0
