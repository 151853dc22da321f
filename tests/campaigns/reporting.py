"""The budget, the progress and the violations of a campaign."""

from __future__ import annotations

import sys
import time
from pathlib import Path

FOUND = Path(__file__).parents[2] / "build" / "campaigns"
"""Inputs that violated an invariant are saved here."""

PROGRESS_SECONDS = 10.0


class Violation(Exception):
    """An invariant of a campaign does not hold."""


class Budget:
    """The time and the number of inputs that a campaign may use, with progress on stderr.

    Args:
        name: the campaign.
        seconds: the time, None for no limit.
        count: the number of inputs, None for no limit.
        unit: what is counted.
    """

    def __init__(self, name: str, seconds: float | None, count: int | None, unit: str) -> None:
        self.name = name
        self.unit = unit
        self.done = 0
        self._count = count
        self._started = time.monotonic()
        self._end = None if seconds is None else self._started + seconds
        self._next_line = self._started + PROGRESS_SECONDS

    @property
    def left(self) -> bool:
        """Return True while time and inputs are left; print the progress every ten seconds."""
        now = time.monotonic()
        if now >= self._next_line:
            self._next_line = now + PROGRESS_SECONDS
            log(f"{self.name}: {self.summary()}")
        return (self._end is None or now < self._end) and (self._count is None or self.done < self._count)

    def summary(self) -> str:
        """Return the progress in one line."""
        return f"{self.done:,} {self.unit} in {time.monotonic() - self._started:.0f} s"


def log(line: str) -> None:
    """Print a line of progress."""
    print(line, file=sys.stderr, flush=True)


def save(name: str, data: bytes) -> Path:
    """Save an input that violated an invariant."""
    FOUND.mkdir(parents=True, exist_ok=True)
    path = FOUND / name
    path.write_bytes(data)
    return path
