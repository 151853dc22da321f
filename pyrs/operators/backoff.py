"""Backoff: the delays between attempts of ``retry``."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING

from pyrs._core.validation import checked_callable, checked_natural, checked_number, checked_seconds

if TYPE_CHECKING:
    from datetime import timedelta


class Backoff:
    """Exponentially growing delays with jitter.

    The jitter prevents clients from retrying simultaneously. The n-th delay is ``first * factor ** (n - 1)``, limited
    to ``most``, times a random factor between ``1 - jitter`` and ``1 + jitter``. The product is limited to ``most``,
    too. A Backoff is a value object: it can be shared, and two with equal arguments are equal.

    Args:
        first: the first delay, in seconds or as a timedelta.
        factor: the ratio of each delay to the previous one; 1 for constant delays.
        most: the maximum delay, in seconds or as a timedelta.
        jitter: the maximum relative deviation of a delay, from 0 to 1; 0 for exact delays.
        random: returns a number from 0 to 1; None for ``random.random``.

    Raises:
        TypeError: a number has the wrong type, or ``random`` is not callable.
        ValueError: a duration is negative or not finite, ``most`` is less than ``first``, ``factor`` is less than 1 or
            not finite, or ``jitter`` is not between 0 and 1.

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
        """Return the delay in seconds after the given number of failed attempts.

        Raises:
            TypeError: ``attempt`` is not an integer.
            ValueError: ``attempt`` is less than 1.
        """
        attempt = checked_natural(attempt, "attempt", 1)
        try:
            seconds = self._first * self._factor ** (attempt - 1)
        except OverflowError:  # the power exceeds the range of a float, and therefore ``most``
            seconds = self._most if self._first else 0.0
        seconds = min(seconds, self._most)
        if self._jitter:
            from random import random  # a slow import that most programs do not need

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
