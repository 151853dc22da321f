"""The arithmetic of demand (§3.8, §3.17), and the prefetch policy."""

from __future__ import annotations

from pyrs.errors import NonPositiveRequest

UNBOUNDED = 2**63 - 1
"""The largest demand (``Long.MAX_VALUE`` in Java). It means that demand is unbounded."""


def add_demand(outstanding: int, more: int) -> int:
    """Return the sum of two demands, capped at ``UNBOUNDED`` (§3.8, §3.17)."""
    total = outstanding + more
    return total if total < UNBOUNDED else UNBOUNDED


def in_words(demand: int) -> str:
    """Return the outstanding demand as text."""
    # Half of UNBOUNDED, because emitted elements reduce unbounded demand too.
    return "demand unbounded" if demand >= UNBOUNDED // 2 else f"demand {demand}"


def non_positive(n: int) -> NonPositiveRequest:
    """Return the error that answers ``request(n)`` with n <= 0 (§3.9)."""
    return NonPositiveRequest(f"request({n}): the number of requested elements must be greater than 0")


class Prefetch:
    """Counts consumed elements, to decide when to request more for a buffer.

    The caller first requests a full buffer. Whenever ``refill_at`` elements, by default three quarters of the buffer,
    were consumed, it requests as many again. The buffer never receives more than it can hold, and refills in batches
    instead of element by element. One thread at a time uses this class.
    """

    def __init__(self, size: int, refill_at: int | None = None) -> None:
        self.size = size
        self.refill_at = size - (size >> 2) if refill_at is None else refill_at
        self.consumed = 0  # the number of elements consumed since the last request

    @property
    def until_refill(self) -> int:
        """The number of elements that may be consumed before the next request is due."""
        return self.refill_at - self.consumed

    def consume(self, n: int = 1, *, at_once: bool = False) -> int:
        """Count n consumed elements and return the number to request now.

        The number is 0 below ``refill_at``, unless ``at_once`` is true.
        """
        self.consumed += n
        if self.consumed < self.refill_at and not at_once:
            return 0
        n, self.consumed = self.consumed, 0
        return n

    def grow(self, size: int) -> int:
        """Enlarge the buffer and return the number of additional elements to request now."""
        more, self.size = size - self.size, size
        self.refill_at = size - (size >> 2)
        return more
