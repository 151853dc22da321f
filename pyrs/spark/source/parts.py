"""The rows of a segment, divided among the tasks that read them."""

from __future__ import annotations

from typing import Any

import pyarrow

__all__ = ["parts"]

_ROWS = 10_000  # with fewer, a task costs more than it does
_BYTES = 16 << 20  # of what a task is sent; Spark's limit is spark.rpc.message.maxSize, 128 MiB


def parts(batches: list[pyarrow.RecordBatch], parallelism: int) -> list[Any]:
    """Return the batches as Arrow streams, one for each task, of a size that fits into one."""
    table = pyarrow.Table.from_batches(batches)
    tasks = min(parallelism, -(-table.num_rows // _ROWS))
    count = min(max(tasks, -(-table.nbytes // _BYTES)), table.num_rows)
    rows = -(-table.num_rows // count)
    return [_stream(table.slice(first, rows)) for first in range(0, table.num_rows, rows)]


def _stream(table: pyarrow.Table) -> Any:
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
