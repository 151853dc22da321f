"""A fake clock for the TCK: time advances only when a test says so, so a loaded machine makes no call late."""

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
        thread, looked = self._awaited
        if get_ident() != thread:
            looked.set()
        return self._now

    def pass_by(self, seconds: float = LONG) -> None:
        """Advance the time, which makes the calls late whose deadlines it passes."""
        self._now += seconds

    def pass_by_watched(self, seconds: float) -> None:
        """Advance the time, and wait until the thread that checks the deadlines has read it."""
        looked = Event()
        self._now += seconds
        self._awaited = (get_ident(), looked)
        assert looked.wait(DEADLINE), "no thread checks the deadlines"
