"""Shorten the timeout of a call that is repeatedly late."""

from __future__ import annotations

from collections import Counter, defaultdict
from weakref import WeakKeyDictionary

from pyrs.tck.environment import Call, TestEnvironment
from pyrs.tck.verification import Verification

# The number of consecutive tests with a late call of a method, after which the timeout of the method is shortened.
_LATE_CALLS = 2
# The shortened timeout is the longer of _SHORT seconds and _TIMES the longest duration of a call that was not late.
_SHORT = 0.2
_TIMES = 5


class Lateness:
    """The late calls of the tests so far and the durations of the others, by name."""

    def __init__(self) -> None:
        self._in_a_row: Counter[str] = Counter()
        self._longest: dict[str, float] = {}

    def is_shortened(self, call: Call) -> bool:
        """Return whether the call's timeout is shortened."""
        return self._in_a_row[call.name] >= _LATE_CALLS

    def limit(self, call: Call, full: float, scale: float) -> float:
        """Return the timeout of a call in seconds: ``full`` if it is not shortened."""
        if not self.is_shortened(call):
            return full
        return min(full, max(_SHORT * scale, _TIMES * self._longest.get(call.name, 0.0)))

    def note(self, env: TestEnvironment, *late: Call) -> None:
        """Record the calls that returned in a test, and the late ones."""
        names = {call.name for call in late}
        for name, took in env.returned.copy().items():  # other threads may still call
            if name == "cancel" and took > env.timeout:  # cancel must be responsive (§3.5), so a slow one is late
                names.add(name)
            elif name not in names:
                # A cancel of a terminated stream returns at once, which does not show that another one does.
                self._in_a_row[name] = max(0, self._in_a_row[name] - 1) if name == "cancel" else 0
                self._longest[name] = max(took, self._longest.get(name, 0.0))
        self._in_a_row.update(names)


_known: WeakKeyDictionary[type[Verification], defaultdict[str, Lateness]] = WeakKeyDictionary()


def lateness_of(subject: Verification) -> Lateness:
    """Return the lateness of the hooks of this class and parameter set."""
    return _known.setdefault(type(subject), defaultdict(Lateness))[subject.tck_run]


def forget(verification: type[Verification]) -> None:
    """Restore the full timeouts, because the next run may test another implementation."""
    _known.pop(verification, None)
