"""The prefetch policy of consumers with a bounded buffer.

It determines when a consumer requests elements, and how many.
"""

from __future__ import annotations


class Prefetch:
    """Requests a full buffer first, and more when three quarters of it were consumed.

    The buffer never receives more than it can hold, and refills in batches instead of element by element. The caller
    sends the requests; this class only counts. One thread at a time calls it.
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
        """Count n consumed elements and return how many to request now.

        With ``at_once``, the consumed elements are requested below the threshold too.
        """
        self.consumed += n
        if self.consumed < self.refill_at and not at_once:
            return 0
        n, self.consumed = self.consumed, 0
        return n

    def grow(self, size: int) -> int:
        """Enlarge the buffer and return how many additional elements to request now."""
        more, self.size = size - self.size, size
        self.refill_at = size - (size >> 2)
        return more
