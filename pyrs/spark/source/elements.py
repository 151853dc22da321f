"""The two kinds of elements of ``read_stream``: rows, and Arrow batches of rows.

Offsets count rows, and demand counts elements. Both numbers are equal if elements are rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from math import inf
from typing import Any, TypeAlias

import pyarrow
from pyarrow.ipc import get_record_batch_size

from pyrs.spark.schema.arrow import size_of
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
        """Restore batches of a journal, from row ``first`` on; return the element count."""
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
            element = elements[good]
            if isinstance(element, (pyarrow.RecordBatch, pyarrow.Table)):
                how = "read_stream(..., as_='arrow') accepts a RecordBatch as an element"
                what = f"{in_line(element)}: must be a row, not a {type(element).__name__}: {how}"
                return batch, 0, SchemaMisfit(first + good, "", what)
            return batch, 0, error

    def _too_large(self, batch: pyarrow.RecordBatch, first: int) -> tuple[int, ValueError | None]:
        """Return the number of rows before the first too large one, and its error or None."""
        # The size of whole buffers is a fast upper bound.
        if size_of(batch) > self._most_bytes and get_record_batch_size(batch) > self._most_bytes:
            for i in range(batch.num_rows):
                size = get_record_batch_size(batch.slice(i, 1))
                if size > self._most_bytes:
                    why = f"row {first + i} has {size} bytes, which spark.rpc.message.maxSize does not allow"
                    return i, ValueError(f"{why}: increase it, or put the value into a file and send its path")
        return batch.num_rows, None

    def committed(self, start: int, end: int) -> int:
        """Release the elements of the rows from ``start`` to ``end``; return their number."""
        return end - start

    def rows_in(self, waiting: int) -> int:
        """Return the known number of rows of the elements that are not encoded yet."""
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
