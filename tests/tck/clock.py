"""The referee's clock in tests: time passes when a test says so, and a busy machine makes nothing late."""

from __future__ import annotations

import time
from threading import Event, get_ident

import pytest

from pyrs.tck import environment, verdicts
from tests.waiting import DEADLINE

LONG = 1_000.0
"""Seconds; longer than anything may take."""


class Clock:
    """What deadlines of hooks and tests are measured by. What is waited for with an event still has real seconds."""

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
        """So much later: whatever has begun and has a deadline before that is late."""
        self._now += seconds

    def pass_by_watched(self, seconds: float) -> None:
        """The same, until another thread has looked: the one that watches for what is late."""
        looked = Event()
        self._now += seconds
        self._awaited = (get_ident(), looked)
        assert looked.wait(DEADLINE), "nobody watches"
