"""The arithmetic of demand, which saturates at 2^63-1 (§3.8, §3.17)."""

from __future__ import annotations

from pyrs.errors import NonPositiveRequest

UNBOUNDED = 2**63 - 1
"""The largest demand (``Long.MAX_VALUE`` in Java). It means that demand is unbounded."""


def add_demand(outstanding: int, more: int) -> int:
    """Return the sum of two demands, capped at ``UNBOUNDED`` (§3.8, §3.17)."""
    total = outstanding + more
    return total if total < UNBOUNDED else UNBOUNDED


def in_words(demand: int) -> str:
    """Return the demand that remains after the emitted elements, as text."""
    return "demand unbounded" if demand >= UNBOUNDED // 2 else f"demand {demand}"  # less the emitted elements


def non_positive(n: int) -> NonPositiveRequest:
    """Return the error that answers ``request(n)`` with n <= 0 (§3.9)."""
    return NonPositiveRequest(f"request({n}): the number of requested elements must be greater than 0")
