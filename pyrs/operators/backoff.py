"""How long to wait before the next attempt."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING

from pyrs._core.validation import checked_callable, checked_natural, checked_number, checked_seconds

if TYPE_CHECKING:
    from datetime import timedelta

__all__ = ["Backoff"]


class Backoff:
    """Delays that grow from one attempt to the next, each a little off, so that clients do not come back all at once.

    The n-th delay is ``first * factor ** (n - 1)``, times a random factor between ``1 - jitter`` and ``1 + jitter``,
    and never more than ``most``. A value: it can be shared, and two of the same numbers are equal.

    Args:
        first: the first delay, in seconds or as a timedelta.
        factor: how much longer each is than the one before; 1 for delays of equal length.
        most: the longest delay, in seconds or as a timedelta.
        jitter: how far a delay may be off, as a part of it from 0 to 1; 0 for exact delays.
        random: returns a number from 0 to 1 each time; None for ``random.random``.

    Raises:
        TypeError: a number is none, or random cannot be called.
        ValueError: a duration is negative or not finite, most is less than first, factor is less than 1 or not
            finite, or jitter is not between 0 and 1.

    Examples:
        >>> backoff = Backoff(first=0.1, factor=2, most=0.5, jitter=0)
        >>> [backoff.delay(attempt) for attempt in (1, 2, 3, 4)]
        [0.1, 0.2, 0.4, 0.5]
    """

    def __init__(
        self,
        first: float | timedelta = 0.1,
        factor: float = 2.0,
        most: float | timedelta = 10.0,
        jitter: float = 0.5,
        *,
        random: Callable[[], float] | None = None,
    ) -> None:
        self._first = checked_seconds(first, "first")
        self._most = checked_seconds(most, "most")
        self._factor = checked_number(factor, "factor")
        self._jitter = checked_number(jitter, "jitter")
        self._random = random if random is None else checked_callable(random, "random")
        if self._most < self._first:
            raise ValueError(f"most must be at least first, which is {self._first}, not {self._most}")
        if not 1.0 <= self._factor < inf:
            raise ValueError(f"factor must be finite and at least 1, not {self._factor}")
        if not 0.0 <= self._jitter <= 1.0:
            raise ValueError(f"jitter must be between 0 and 1, not {self._jitter}")

    def delay(self, attempt: int) -> float:
        """Return the seconds to wait after so many failures, 1 or more.

        Raises:
            TypeError: attempt is not an integer.
            ValueError: attempt is less than 1.
        """
        attempt = checked_natural(attempt, "attempt", 1)
        try:
            seconds = self._first * self._factor ** (attempt - 1)
        except OverflowError:  # a float ends somewhere; the delay has long been the longest by then
            seconds = self._most if self._first else 0.0
        seconds = min(seconds, self._most)
        if self._jitter:
            from random import random  # only whoever waits pays for the import

            seconds *= 1.0 + self._jitter * (2.0 * (self._random or random)() - 1.0)
        return min(seconds, self._most)

    def _values(self) -> tuple[object, ...]:
        return (self._first, self._factor, self._most, self._jitter, self._random)

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if isinstance(other, Backoff) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return f"Backoff(first={self._first}, factor={self._factor}, most={self._most}, jitter={self._jitter})"
