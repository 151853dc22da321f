"""Division of the rows of a segment among tasks."""

from __future__ import annotations

from typing import Any

import pyarrow

__all__ = ["parts"]

_ROWS = 10_000  # per task; the overhead of a task exceeds the work of fewer
_BYTES = 16 << 20  # per task; Spark's limit is spark.rpc.message.maxSize, 128 MiB


def parts(batches: list[pyarrow.RecordBatch], parallelism: int) -> list[Any]:
    """Return the batches as Arrow streams, one for each task. A single row may exceed the size limit of a task."""
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
