"""How much credit a consumer end gives: the flow control of ``docs/protocol.md``, as arithmetic alone."""

from __future__ import annotations

from pyrs._core.demand import UNBOUNDED

INITIAL = 16
GROWTH = 4
BYTE_BUDGET = 1 << 20
DEFAULT_MAX_PREFETCH = 16_384


class Window:
    """The credit of one stream.

    The consumer end tells it what the user requested, what was observed and what was handed over; `refill` answers with
    the credit to send now. Not thread-safe: a stream's serial drain alone calls it (others may read its numbers).
    """

    __slots__ = (
        "_bytes_seen",
        "_elements_seen",
        "_ran_empty",
        "delivered",
        "exact",
        "granted",
        "largest",
        "limit",
        "max_prefetch",
        "requested",
    )

    def __init__(self, max_prefetch: int = DEFAULT_MAX_PREFETCH, *, exact: bool = False) -> None:
        self.max_prefetch = max_prefetch
        self.exact = exact
        self.limit = min(INITIAL, max_prefetch)
        self.requested = 0
        self.granted = 0
        self.delivered = 0
        self.largest = 0
        self._ran_empty = False
        self._bytes_seen = 0
        self._elements_seen = 0

    @property
    def outstanding(self) -> int:
        """Elements granted and not yet handed to the user."""
        return self.granted - self.delivered

    def request(self, n: int) -> None:
        """The user asked for `n` more (rule 3.8: it adds; rule 3.17: it saturates)."""
        self.requested = min(self.requested + n, UNBOUNDED)

    def observe(self, elements: int, size: int) -> None:
        """A batch of so many elements took `size` bytes; older batches count for less and less."""
        if self._elements_seen > self.max_prefetch:
            self._elements_seen >>= 1
            self._bytes_seen >>= 1
        self._elements_seen += elements
        self._bytes_seen += size
        affordable = BYTE_BUDGET * self._elements_seen // self._bytes_seen
        if self.limit > affordable:
            self.limit = max(1, affordable)

    def ran_empty(self) -> None:
        """Everything that came was handed over: the consumer keeps up."""
        self._ran_empty = True

    def refill(self) -> int:
        """The credit to send now; 0 for none."""
        if self.requested == 0:
            return 0  # nothing is requested upstream before the user asks
        outstanding = self.granted - self.delivered
        below_low_tide = outstanding <= self.limit >> 2
        if below_low_tide and self._ran_empty:
            self._grow()
        wanted = self.limit - outstanding
        if self.exact and self.requested - self.granted <= wanted:
            wanted = self.requested - self.granted
        elif not below_low_tide:
            return 0
        if wanted <= 0:
            return 0
        self._ran_empty = False
        self.granted += wanted
        if outstanding + wanted > self.largest:
            self.largest = outstanding + wanted
        return wanted

    def _grow(self) -> None:
        limit = min(self.limit * GROWTH, self.max_prefetch)
        if self._bytes_seen:
            limit = min(limit, BYTE_BUDGET * self._elements_seen // self._bytes_seen)
        self.limit = max(1, limit)
