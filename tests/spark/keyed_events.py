"""Events of several users, a stage for each user, and a query with ``apply_by_key`` that may be killed.

``python -m tests.spark.keyed_events FOLDER BATCH`` runs the query in a separate process, and kills the process and its
JVM while it stores that batch. With -1 as the batch, the query runs to completion.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyrs
from pyrs import spark as ps
from tests.sessions import spark_session

EVENTS = "value long, user string"
RESULT = "user string, number long, totals array<long>"
ROCKSDB = (
    "spark.sql.streaming.stateStore.providerClass",
    "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
)


def totals(rows: pyrs.Stream[Any]) -> pyrs.Stream[Any]:
    """Return numbered windows of the running totals of the distinct values."""
    return (
        rows.distinct(lambda row: row.value)
        .scan(lambda total, row: (row.user, total[1] + row.value), ("", 0))
        .skip(1)
        .buffer(3, skip=2)
        .flat_map(pyrs.from_iterable)
        .window(5)
        .concat_map(lambda window: window.to_list())
        .with_index()
        .map(lambda each: (each[1][0][0], each[0], [total for _, total in each[1]]))
    )


def write_events(folder: Path, count: int, files: int, users: int, values: int) -> None:
    """Write events to files of different sizes. Each file is a micro-batch."""
    generator = random.Random(count)
    folder.mkdir(exist_ok=True)
    cuts = sorted(generator.sample(range(1, count), files - 1))
    for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, count], strict=True)):
        lines = [
            f'{{"user": "user {generator.randrange(users)}", "value": {generator.randrange(values)}}}\n'
            for _ in range(start, end)
        ]
        path = folder / f"{number:04}.json"
        path.write_text("".join(lines))
        os.utime(path, (number, number))  # Spark reads files in the order of their modification times


def expected(folder: Path) -> list[Any]:
    """Run the same stage in the driver, and return its rows."""
    from pyspark.sql import Row

    rows: dict[str, list[Any]] = {}
    for path in sorted(folder.glob("*.json")):
        for line in path.read_text().splitlines():
            event = json.loads(line)
            rows.setdefault(event["user"], []).append(Row(**event))
    # concat(never()) keeps the stream from completing, so that no incomplete buffer or window is emitted.
    found: list[Any] = []
    for each in rows.values():
        totals(pyrs.from_iterable(each).concat(pyrs.never())).subscribe(on_next=found.append)
    return sort_rows(found)


def sort_rows(rows: Iterable[Any]) -> list[Any]:
    """Return the rows as lists, sorted by user and number."""
    return sorted(([user, number, list(values)] for user, number, values in rows), key=lambda row: row[:2])


def stored(folder: Path) -> list[Any]:
    """Return the rows of all batches."""
    return sort_rows(row for path in folder.glob("*.json") for row in json.loads(path.read_text()))


def run(spark: Any, events: Path, folder: Path, stage: Any = totals, kill_at: int = -1) -> None:
    """Run a query over all files that are not processed yet."""
    folder.mkdir(exist_ok=True)

    def write(df: Any, batch_id: int) -> None:
        rows = sort_rows(df.collect())
        path = folder / f"{batch_id:04}.json"
        if path.exists():
            assert json.loads(path.read_text()) == rows, f"batch {batch_id} was repeated with other rows"
        if batch_id == kill_at:
            os.killpg(os.getpgrp(), signal.SIGKILL)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(rows))
        part.rename(path)

    df = spark.readStream.schema(EVENTS).option("maxFilesPerTrigger", 1).json(str(events))
    writer = ps.apply_by_key(df, "user", stage, RESULT).writeStream.foreachBatch(write)
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()


def main(folder: Path, kill_at: int) -> None:
    options = dict([("spark.driver.memory", "1g"), ("spark.sql.shuffle.partitions", "3"), ROCKSDB])
    run(spark_session("local[2]", options), folder / "events", folder / "stored", kill_at=kill_at)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
