"""How long what the user has written is waited for: what blocks for ever should not cost its time in every test."""

from __future__ import annotations

from collections import Counter, defaultdict
from weakref import WeakKeyDictionary

from pyrs.tck.environment import Call, TestEnvironment
from pyrs.tck.verification import Verification

__all__ = ["Lateness", "forget", "lateness_of"]

_OFTEN = 2  # twice in a row that a hook, or subscribe, is waited for as long as it may take
_SHORT = 0.2  # and what it is given from then on,
_TIMES = 5  # or this many times the longest that it took when it was in time


class Lateness:
    """What was late in the tests so far, and how long it took when it was not, by the names of calls."""

    def __init__(self) -> None:
        self._in_a_row: Counter[str] = Counter()
        self._longest: dict[str, float] = {}

    def is_usual(self, call: Call) -> bool:
        """Say whether it was late so often that it is not waited for as long again."""
        return self._in_a_row[call.name] >= _OFTEN

    def limit(self, call: Call, full: float, scale: float) -> float:
        """Return how long a call may take, in seconds.

        Args:
            call: what is called.
            full: how long it may take where it was not late before.
            scale: that of the environment's times.
        """
        if not self.is_usual(call):
            return full
        return min(full, max(_SHORT * scale, _TIMES * self._longest.get(call.name, 0.0)))

    def note(self, env: TestEnvironment, *late: Call) -> None:
        """Remember what a test has shown: what returned in time, and what was late."""
        for name, took in env.returned.copy().items():  # other threads may still call
            self._in_a_row.pop(name, None)
            self._longest[name] = max(took, self._longest.get(name, 0.0))
        self._in_a_row.update({call.name for call in late})


_known: WeakKeyDictionary[type[Verification], defaultdict[str, Lateness]] = WeakKeyDictionary()


def lateness_of(subject: Verification) -> Lateness:
    """Return what is known of the hooks of this class, in this run of it."""
    return _known.setdefault(type(subject), defaultdict(Lateness))[subject.tck_run]


def forget(verification: type[Verification]) -> None:
    """Give the hooks their full time again: the next run may be of another implementation."""
    _known.pop(verification, None)
