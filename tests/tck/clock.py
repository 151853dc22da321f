"""A fake clock for the TCK. Only the test advances its time, so no call is late because the machine is loaded."""

from __future__ import annotations

import time
from threading import Event, get_ident

import pytest

from pyrs.tck import environment, verdicts
from tests.waiting import DEADLINE

LONG = 1_000.0
"""Seconds; longer than every timeout."""


class Clock:
    """Replaces ``time`` for the deadlines of hooks and tests. Waiting on events still uses real time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._now = time.monotonic()
        self._awaited = (0, Event())
        for module in (environment, verdicts):
            monkeypatch.setattr(module, "time", self)

    def monotonic(self) -> float:
        thread, was_read = self._awaited
        if get_ident() != thread:
            was_read.set()
        return self._now

    def advance(self, seconds: float = LONG) -> None:
        """Advance the time. Calls whose deadlines have passed are late."""
        self._now += seconds

    def advance_until_read(self, seconds: float) -> None:
        """Advance the time, and wait until the thread that checks the deadlines has read it."""
        was_read = Event()
        self._now += seconds
        self._awaited = (get_ident(), was_read)
        assert was_read.wait(DEADLINE), "no thread checks the deadlines"
