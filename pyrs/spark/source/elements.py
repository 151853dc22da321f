"""The two kinds of elements of ``read_stream``: rows, and Arrow batches of rows.

Offsets count rows, and demand counts elements. Both numbers are equal if elements are rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from math import inf
from typing import Any, TypeAlias

import pyarrow

from pyrs.spark.schema.columns import in_line
from pyrs.spark.schema.rows import RowEncoder, SchemaMisfit

Encoded: TypeAlias = "tuple[pyarrow.RecordBatch, int, BaseException | None]"
"""The rows of the elements that fit the schema; the number of elements without rows, which no commit releases; and the
error of the first element that does not fit, or None."""


class Elements:
    """Encodes elements that are rows, and counts those that Spark has not committed.

    Args:
        most_bytes: the maximum size of a row that Spark can send to an executor.

    Attributes:
        chunk: the maximum number of elements that are encoded together.
    """

    chunk = 8192

    def __init__(self, encoder: RowEncoder, most_bytes: float = inf) -> None:
        self._encoder = encoder
        self._most_bytes = most_bytes

    def restore(self, first: int, batches: Iterable[pyarrow.RecordBatch]) -> int:
        """Restore the batches of a journal, and return the element count.

        The batches begin at the row ``first``.
        """
        return sum(batch.num_rows for batch in batches)

    def encode(self, elements: list[Any], first: int) -> Encoded:
        """Encode elements, at least one and at most a chunk, from the row ``first`` on."""
        try:
            batch = self._encoder.batch(elements, first)
            good, too_large = self._too_large(batch, first)
            return batch.slice(0, good), 0, too_large
        except Exception as error:
            # The elements before the one that does not fit are rows of the stream.
            good = error.element - first if isinstance(error, SchemaMisfit) else 0
            batch = self._encoder.batch(elements[:good], first)
            if isinstance(elements[good], (pyarrow.RecordBatch, pyarrow.Table)):
                return batch, 0, _batch_among_rows(first + good, elements[good])
            return batch, 0, error

    def _too_large(self, batch: pyarrow.RecordBatch, first: int) -> tuple[int, ValueError | None]:
        """Return the index of the first row that Spark cannot send, and an error.

        If Spark can send every row, returns the number of rows and None.
        """
        # The size of whole buffers is a fast upper bound. nbytes would crash for an empty list of Spark 4.0, which has
        # no offsets.
        if batch.get_total_buffer_size() > self._most_bytes and _size_of(batch) > self._most_bytes:
            for i in range(batch.num_rows):
                size = _size_of(batch.slice(i, 1))
                if size > self._most_bytes:
                    why = f"row {first + i} has {size} bytes, which spark.rpc.message.maxSize does not allow"
                    return i, ValueError(f"{why}: increase it, or put the value into a file and send its path")
        return batch.num_rows, None

    def committed(self, start: int, end: int) -> int:
        """Release the elements of the committed rows, and return their number.

        The rows are those from ``start`` to ``end``.
        """
        return end - start

    def rows_in(self, waiting: int) -> int:
        """Return the number of rows that the waiting elements are known to have.

        Waiting elements are not encoded yet. ``waiting`` is their number.
        """
        return waiting

    def needed_for(self, rows: int) -> int:
        """Return the number of elements to allow at first for this number of rows."""
        return rows

    def last_row(self, position: int, capacity: int) -> float:
        """Return the row at which a batch from ``position`` must end.

        Capacity is then left for another element. Infinity if the batch may have any size.
        """
        return inf


class BatchElements(Elements):
    """Elements that are Arrow batches.

    The parts of a divided batch in a journal count as one element each.
    """

    chunk = 1

    def __init__(self, encoder: RowEncoder, most_bytes: float = inf) -> None:
        super().__init__(encoder, most_bytes)
        self._ends: deque[int] = deque()  # the end row of each element that is not committed
        self._encoded = 0

    def restore(self, first: int, batches: Iterable[pyarrow.RecordBatch]) -> int:
        count = 0
        for count, batch in enumerate(batches, 1):  # noqa: B007 - read after the loop
            first += batch.num_rows
            self._ends.append(first)
        return count

    def encode(self, elements: list[Any], first: int) -> Encoded:
        (element,) = elements
        try:
            batch = self._encoder.fitted(element, self._encoded)
            _, too_large = self._too_large(batch, first)
            if too_large is not None:
                raise too_large
        except Exception as error:
            return self._encoder.batch([], first), 0, error
        self._encoded += 1
        if not batch.num_rows:
            return batch, 1, None
        self._ends.append(first + batch.num_rows)
        return batch, 0, None

    def committed(self, start: int, end: int) -> int:
        count = 0
        while self._ends and self._ends[0] <= end:
            self._ends.popleft()
            count += 1
        return count

    def rows_in(self, waiting: int) -> int:
        return 0  # the rows are not known before the elements are encoded

    def needed_for(self, rows: int) -> int:
        return 1  # the number of their rows is known only when they arrive

    def last_row(self, position: int, capacity: int) -> float:
        ends = [end for end in self._ends if end > position]
        return ends[capacity - 2] if len(ends) >= capacity else inf


def _size_of(batch: pyarrow.RecordBatch) -> int:
    """Return the size in bytes of a batch in a task."""
    return pyarrow.ipc.get_record_batch_size(batch)  # type: ignore[no-any-return]


def _batch_among_rows(number: int, batch: Any) -> SchemaMisfit:
    kind = type(batch).__name__
    how = "read_stream(..., as_='arrow') takes elements that are each a RecordBatch"
    return SchemaMisfit(number, "", f"{in_line(batch)}: must be a row, not a {kind}: {how}")
