"""Compute the credit of a consumer end: the flow control of ``docs/protocol.md``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyrs._core.demand import UNBOUNDED
from pyrs.jvm.limits import LIMITS

INITIAL = LIMITS["window.initial"]
GROWTH = LIMITS["window.growth"]
BYTE_BUDGET = LIMITS["window.bytes"]
MIN_WINDOW = 2
"""The minimum window, for large elements: one arrives while the previous one is processed."""
DEFAULT_MAX_PREFETCH = LIMITS["window.elements"]


@dataclass(eq=False, repr=False, slots=True)
class Window:
    """The credit of one stream.

    Invariants: ``granted`` only grows, and is 0 before the first request; ``granted - delivered`` is at most ``limit``
    when credit is granted, and in exact mode ``granted`` is at most ``requested``.

    The consumer end reports the demand of the Subscriber, the sizes of batches and the delivered elements; ``refill``
    returns the credit to send. Not thread-safe: only the drain loop of the stream calls it, and before that the
    thread that subscribes. Other threads may read the attributes.
    """

    max_prefetch: int = DEFAULT_MAX_PREFETCH
    exact: bool = field(default=False, kw_only=True)
    limit: int = field(init=False)
    requested: int = field(default=0, init=False)
    granted: int = field(default=0, init=False)
    delivered: int = field(default=0, init=False)
    largest: int = field(default=0, init=False)
    ran_empty: bool = field(default=False, init=False)
    """Set when every received element was delivered: the consumer keeps up."""
    _bytes_seen: int = field(default=0, init=False)
    _elements_seen: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.limit = min(INITIAL, self.max_prefetch)

    def request(self, n: int) -> None:
        """Add ``n`` to the demand (§3.8), up to the maximum (§3.17)."""
        self.requested = min(self.requested + n, UNBOUNDED)

    def observe(self, elements: int, size: int) -> None:
        """Record the elements and the bytes of a batch. Older batches lose weight."""
        if self._elements_seen > self.max_prefetch:
            self._elements_seen >>= 1
            self._bytes_seen >>= 1
        self._elements_seen += elements
        self._bytes_seen += size
        affordable = self._affordable()
        if self.limit > affordable:
            self.limit = affordable

    def _affordable(self) -> int:
        return max(MIN_WINDOW, BYTE_BUDGET * self._elements_seen // self._bytes_seen)

    def refill(self) -> int:
        """Return the credit to send now, 0 for none."""
        if self.requested == 0:
            return 0  # nothing is requested upstream before the first request of the Subscriber
        outstanding = self.granted - self.delivered
        is_low = outstanding <= (self.limit >> 2 or self.limit >> 1)  # a quarter; 1 for a limit of 2 or 3
        if is_low and self.ran_empty:
            limit = min(self.limit * GROWTH, self.max_prefetch)
            self.limit = min(limit, self._affordable()) if self._bytes_seen else limit
        wanted = self.limit - outstanding
        if self.exact and self.requested - self.granted <= wanted:
            wanted = self.requested - self.granted
        elif not is_low:
            return 0
        if wanted <= 0:
            return 0
        self.ran_empty = False
        self.granted += wanted
        if outstanding + wanted > self.largest:
            self.largest = outstanding + wanted
        return wanted


def prefetch(max_prefetch: int, options: Mapping[Any, Any] | None) -> int:
    """Return the largest window of a stream with these options.

    The window of a stream of shared record batches does not grow: the link carries their handles, whose size does
    not reflect the memory of the batches.
    """
    convert = options.get("convert") if options else None
    shared = "shared" in convert.values() if isinstance(convert, Mapping) else convert == "shared"
    return min(INITIAL, max_prefetch) if shared else max_prefetch
