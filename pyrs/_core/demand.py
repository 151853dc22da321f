"""How demand adds up: additively (3.8) and saturating at 2^63-1, which means unbounded (3.17)."""

from __future__ import annotations

from operator import index

from pyrs.errors import NonPositiveRequest

__all__ = ["UNBOUNDED", "add_demand", "checked_count", "in_words", "non_positive"]

UNBOUNDED = 2**63 - 1
"""The largest demand there is (``Long.MAX_VALUE`` in Java). It means: as many as there are."""


def add_demand(outstanding: int, more: int) -> int:
    """Return the sum of two demands, capped at ``UNBOUNDED``. Rules: 3.8, 3.17."""
    total = outstanding + more
    return total if total < UNBOUNDED else UNBOUNDED


def in_words(demand: int) -> str:
    """Return the demand as it is shown."""
    return "demand unbounded" if demand >= UNBOUNDED // 2 else f"demand {demand}"  # the used part does not matter


def checked_count(n: object) -> int:
    """Return n as an int.

    Raises:
        TypeError: n is not an integer.
    """
    try:
        return index(n)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"n must be an integer, not {type(n).__name__}") from None


def non_positive(n: int) -> NonPositiveRequest:
    """Return the error that answers ``request(n)`` with n <= 0. Rules: 3.9."""
    return NonPositiveRequest(f"request({n}): the number of requested elements must be greater than 0")
