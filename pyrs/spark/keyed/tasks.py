"""Run a stage for the keys of a Spark task, each with its rows and its state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from math import ceil
from typing import Any, NamedTuple

import pyarrow
from pyspark import TaskContext
from pyspark.sql import Row

from pyrs.spark.executors.pickling import unpacked
from pyrs.spark.keyed.stage import KeyedStage
from pyrs.spark.read.partitions import PartitionFailed, cause_for_worker, text_of
from pyrs.spark.schema.arrow import Shape, row_class
from pyrs.spark.schema.rows import RowEncoder

_ROWS = 1_000
"""The maximum number of rows of a key that are converted together."""


class KeyedWork(NamedTuple):
    """A stage with its input and output formats, pickled in the driver.

    Attributes:
        stage: a function from Stream to Publisher.
        shape: the type of its input elements.
        arrow: the Arrow schema of the input.
        encoder: encodes its output elements.
    """

    stage: Callable[..., Any]
    shape: Shape
    arrow: pyarrow.Schema
    encoder: RowEncoder


class KeyedTask:
    """Runs the stage for each key of a task.

    Args:
        work: the pickled ``KeyedWork``.
        handle: Spark's handle, which has the timers of the current key.
        state: Spark's state of the current key: a pair of the state of the stage, and the time of its timer in
            milliseconds.
    """

    def __init__(self, work: bytes, handle: Any, state: Any) -> None:
        self._opened = unpacked(work, lambda work: iter((work,)))
        self._work: KeyedWork = next(self._opened)
        self._stage = KeyedStage(self._work.stage)
        self._handle = handle
        self._state = state

    def run(self, key: tuple[Any, ...], rows: Iterator[Any], now: int, fired: int | None = None) -> Iterator[Row]:
        """Continue the stream of a key, and yield the rows that it emits.

        ``fired`` is the time of the timer that has fired, which Spark removes. Times are in milliseconds.
        """
        saved, timer = self._state.get() or (None, None)
        try:
            step = self._stage.advance(saved, self._elements(rows), now / 1000 if self._stage.is_timed else 0.0)
            batch = self._work.encoder.batch(step.emitted)
        except BaseException as error:
            reason = f"key {key[0] if len(key) == 1 else key!r}: {text_of(error)}"
            failed = PartitionFailed(TaskContext.get().partitionId(), reason)
            raise failed.with_traceback(error.__traceback__) from cause_for_worker(error)
        due = None if step.due is None else max(ceil(step.due * 1000), now + 1)
        registered = None if timer == fired else timer
        if due != registered:
            if registered is not None:
                self._handle.deleteTimer(registered)
            if due is not None:
                self._handle.registerTimer(due)
        if (step.state, due) != (saved, timer):
            self._state.update((step.state, due))
        row = row_class(tuple(batch.schema.names))
        yield from (tuple.__new__(row, values.values()) for values in batch.to_pylist())

    def close(self) -> None:
        """End the task, and report the counts of the ``Metrics`` in the stage."""
        self._opened.close()

    def _elements(self, rows: Iterator[Any]) -> Iterator[Any]:
        """Convert rows, which Spark has decoded from Arrow, to the elements of the stage."""
        arrow = self._work.arrow
        while chunk := list(islice(rows, _ROWS)):
            given = chunk[0].__fields__  # Spark may move the key to the front
            places = [(given.index(field.name), field.type) for field in arrow]
            columns = [pyarrow.array([row[i] for row in chunk], kind) for i, kind in places]
            yield from self._work.shape.of_batch(pyarrow.RecordBatch.from_arrays(columns, schema=arrow))[0]
