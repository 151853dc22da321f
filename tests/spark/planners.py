"""Test doubles of Spark's planner and of the process that called read_stream."""

from __future__ import annotations

import pickle
from pathlib import Path
from threading import Event
from typing import Any

import pyarrow
from pyspark import cloudpickle
from pyspark.sql.types import LongType, StructType

from pyrs.spark.schema.rows import RowEncoder
from pyrs.spark.source.buffer import ReplayBuffer
from pyrs.spark.source.journal import Journal
from pyrs.spark.source.reader import reader_source
from pyrs.spark.source.server import Server
from tests.waiting import DEADLINE

SCHEMA = StructType().add("n", LongType())


def batch_of(*numbers: int) -> Any:
    return pyarrow.RecordBatch.from_pydict({"n": pyarrow.array(numbers, pyarrow.int64())})


class Planner:
    """A test double of Spark's planner: it pickles the source, and calls the reader, as Spark does."""

    def __init__(self, server: Server) -> None:
        source = self._pickled(reader_source("numbers", SCHEMA, server.host, server.port, server.token))({})
        self.reader = self._pickled(source).streamReader(SCHEMA)
        self.position: Any = None

    @staticmethod
    def _pickled(value: Any) -> Any:
        return pickle.loads(cloudpickle.dumps(value))

    def plan(self) -> list[int] | None:
        """Plan the next batch of a running query; return its rows, or None if there are none."""
        start = self.position or self.reader.initialOffset()
        end = self.reader.latestOffset(start, None)
        if end == start:
            return None
        if self.position is not None:
            self.reader.commit(start)
        self.position = end
        return self.rows(start, end)

    def rows(self, start: Any, end: Any) -> list[int]:
        batches = [batch for part in self.reader.partitions(start, end) for batch in self.reader.read(part)]
        return [n for batch in batches for n in batch.column("n").to_pylist()]


class Driver:
    """A process that called read_stream."""

    def __init__(self, publisher: Any, max_rows: int = 3, capacity: int = 6, **options: Any) -> None:
        journal = options.pop("journal", None)
        self.buffer = ReplayBuffer(
            publisher,
            RowEncoder(SCHEMA),
            max_rows,
            capacity,
            options.pop("on_restart", "fail"),
            Journal(journal) if isinstance(journal, Path) else journal,
            whole=options.pop("whole", False),
        )
        self.is_running = True
        self.closed = Event()
        self.planners: list[Planner] = []
        self.server = Server(self.buffer.answer, self.buffer.ahead, lambda: self.is_running, self._close)

    def _close(self) -> None:
        self.buffer.close()
        self.closed.set()

    def planner(self) -> Planner:
        self.planners.append(Planner(self.server))
        return self.planners[-1]

    def terminate(self) -> None:
        self.is_running = False
        assert self.closed.wait(DEADLINE)
        for planner in self.planners:
            planner.reader.stop()
