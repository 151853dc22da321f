"""Run every function on a session of Spark Connect, whose server this process starts; print the results as JSON.

A process has either classic sessions or those of Spark Connect, so this is a script and not a test.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from pyspark.sql import SparkSession

import pyrs
from pyrs import spark as ps
from pyrs.spark.read.partitions import ConnectReader
from pyrs.testing import TestSubscriber
from tests.sessions import short_query_settings
from tests.spark.keyed_events import ROCKSDB
from tests.spark.late_workers import repeat_if_late
from tests.waiting import eventually

RESULTS: dict[str, Any] = {}
SECONDS = 60


def recorded(function: Callable[[Any], Any]) -> Callable[[Any], None]:
    def run(spark: Any) -> None:
        try:
            RESULTS[function.__name__] = repeat_if_late(function, spark)
        except Exception as error:
            RESULTS[function.__name__] = f"{type(error).__name__}: {error}"

    CASES.append(run)
    return run


CASES: list[Callable[[Any], None]] = []


@recorded
def supports(spark: Any) -> Any:
    return ps.supports(spark)


@recorded
def apply(spark: Any) -> Any:
    rows = ps.apply(spark.range(0, 100, 1, 4), lambda rows: rows.map(lambda row: (row.id * 2,)), "double long")
    return sum(row.double for row in rows.collect())


@recorded
def apply_that_fails(spark: Any) -> Any:
    ps.apply(spark.range(0, 4, 1, 2), lambda rows: rows.map(lambda row: (row.id // 0,)), "n long").collect()


@recorded
def for_each_partition(spark: Any) -> Any:
    frame = spark.range(0, 1000, 1, 4)
    return ps.for_each_partition(frame, lambda: TestSubscriber(None)).block(timeout=SECONDS)


@recorded
def for_each_partition_that_fails(spark: Any) -> Any:
    def failing() -> Any:
        raise ArithmeticError("on the executor")

    ps.for_each_partition(spark.range(0, 4, 1, 1), failing).block(timeout=SECONDS)


@recorded
def from_dataframe(spark: Any) -> Any:
    frame = spark.sql(
        "select id, cast(id as string) text, timestamp_seconds(id) time, array(id, null) items, "
        "named_struct('a', id, 'b', map('k', id)) nested, cast(id as decimal(10, 2)) price, date '2024-02-29' day, "
        "cast(cast(id as string) as binary) bytes from range(0, 5000, 1, 7)"
    )
    return ps.from_dataframe(frame).collect(timeout=SECONDS) == frame.collect()


@recorded
def from_dataframe_with_nulls_in_lists(spark: Any) -> Any:
    """Arrow's cast refuses both columns."""
    frame = spark.sql(
        "select array(parse_json('1'), null) v, array(null, null) n, timestamp_seconds(id) t from range(3)"
    )
    others = frame.select("v", "n")
    rows = ps.from_dataframe(frame.select("v", "t")).collect(timeout=SECONDS)
    return [str(rows) == str(frame.select("v", "t").collect()), len(ps.from_dataframe(others).collect(timeout=SECONDS))]


@recorded
def from_dataframe_of_no_rows(spark: Any) -> Any:
    return ps.from_dataframe(spark.range(0), "tuples").collect(timeout=SECONDS)


@recorded
def from_dataframe_without_columns(spark: Any) -> Any:
    df = spark.range(0, 5, 1, 2).select()
    (first, *_) = ps.from_dataframe(df, "arrow").collect(timeout=SECONDS)
    return [len(ps.from_dataframe(df, "tuples").collect(timeout=SECONDS)), first.num_rows > 0, first.num_columns]


@recorded
def from_dataframe_in_pandas(spark: Any) -> Any:
    return sum(len(frame) for frame in ps.from_dataframe(spark.range(10), "pandas").collect(timeout=SECONDS))


@recorded
def from_dataframe_on_demand(spark: Any) -> Any:
    subscriber: TestSubscriber[Any] = TestSubscriber(3)
    ps.from_dataframe(spark.range(0, 1_000_000, 1, 50), "tuples").subscribe(subscriber)
    subscriber.await_count(3, SECONDS)
    assert spark.range(0, 1000, 1, 50).count() == 1000  # further elements could arrive during this query
    received = len(subscriber.elements)
    subscriber.request(1_000_000)
    subscriber.await_complete(SECONDS)
    return [received, [n for (n,) in subscriber.elements] == list(range(1_000_000))]


@recorded
def from_dataframe_that_fails(spark: Any) -> Any:
    frame = spark.sql("select raise_error('planned failure') as failed")
    ps.from_dataframe(frame).collect(timeout=SECONDS)


@recorded
def from_dataframe_cancelled(spark: Any) -> Any:
    """Return how long a cancel takes to end the only task, which sleeps for a minute in Python."""

    with tempfile.TemporaryDirectory() as folder:
        started = Path(folder, "started")

        def slow(rows: Any) -> Any:
            for batch in rows:
                started.touch()
                time.sleep(SECONDS)
                yield batch

        subscriber: TestSubscriber[Any] = TestSubscriber(None)
        ps.from_dataframe(spark.range(0, 1, 1, 1).mapInArrow(slow, "id long")).subscribe(subscriber)
        eventually(started.exists, "the task has not started", SECONDS)
        assert is_reading()
        subscriber.cancel()
        began = time.monotonic()
        eventually(lambda: not is_reading(), "the task was not cancelled", SECONDS)
        return time.monotonic() - began


def is_reading() -> bool:
    """Return whether a thread reads a DataFrame."""
    for frame in sys._current_frames().values():
        inner: FrameType | None = frame
        while inner is not None:
            if inner.f_code is ConnectReader.read.__code__:
                return True
            inner = inner.f_back
    return False


@recorded
def from_publishers(spark: Any) -> Any:
    rows = ps.from_publishers(spark, [1, 2], lambda n: pyrs.range(n).map(lambda i: (n, i)), "n int, i long")
    return sorted([row.n, row.i] for row in rows.collect())


@recorded
def stream_from_publishers(spark: Any) -> Any:
    def numbers(n: int, start: int, end: int) -> Any:
        return pyrs.range(start, end).map(lambda i: (n, i))

    frame = ps.stream_from_publishers(spark, [1, 2], numbers, "n int, i long", lambda n: n)
    query = frame.writeStream.format("memory").queryName("published").trigger(availableNow=True).start()
    query.awaitTermination(SECONDS)
    return sorted([row.n, row.i] for row in spark.table("published").collect())


@recorded
def for_each_frame(spark: Any) -> Any:
    sums: list[int] = []
    rows = pyrs.range(1000).map(lambda n: (n,))
    single = ps.for_each_frame(rows, "n long", lambda df: sums.append(df.groupBy().sum().first()[0]), 300, spark=spark)
    return [single.block(timeout=SECONDS), sum(sums)]


@recorded
def events(spark: Any) -> Any:
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    ps.events(spark).subscribe(subscriber)
    query = spark.readStream.format("rate").load().writeStream.format("noop").start()
    subscriber.await_count(2, SECONDS)
    query.stop()
    subscriber.await_count(3, SECONDS)
    subscriber.cancel()
    return sorted({type(event).__name__ for event in subscriber.elements})


@recorded
def apply_with_metrics(spark: Any) -> Any:
    metrics = pyrs.Metrics("rows")
    ps.apply(spark.range(1), lambda rows: rows.metrics(metrics), "id long")


@recorded
def from_stream(spark: Any) -> Any:
    ps.from_stream(spark.readStream.format("rate").load())


@recorded
def streaming_for_each_partition(spark: Any) -> Any:
    ps.for_each_partition(spark.readStream.format("rate").load(), lambda: TestSubscriber(None))


@recorded
def streaming_apply(spark: Any) -> Any:
    frame = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    mapped = ps.apply(frame, lambda rows: rows.map(lambda row: (row.value,)), "n long")
    query = mapped.writeStream.format("memory").queryName("applied").trigger(once=True).start()
    query.awaitTermination(SECONDS)
    return spark.table("applied").count()


@recorded
def apply_by_key(spark: Any) -> Any:
    frame = spark.readStream.format("rate-micro-batch").options(rowsPerBatch=10, numPartitions=1).load()
    keyed = ps.apply_by_key(
        frame.selectExpr("value % 2 as key", "value"),
        "key",
        lambda rows: rows.buffer(2).map(lambda pair: (sum(row.value for row in pair),)),
        "total long",
    )
    query = keyed.writeStream.format("memory").queryName("keyed").trigger(once=True).start()
    query.awaitTermination(SECONDS)
    return sorted(row.total for row in spark.table("keyed").collect())


@recorded
def read_stream(spark: Any) -> Any:
    ps.read_stream(spark, pyrs.empty(), "n long")


@recorded
def attach(spark: Any) -> Any:
    ps.attach(spark)


@recorded
def ship(spark: Any) -> Any:
    ps.ship(spark)


def main() -> None:
    builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").config(*ROCKSDB)
    spark = builder.config("spark.sql.shuffle.partitions", "2").config(map=short_query_settings()).getOrCreate()
    for case in CASES:
        case(spark)
    spark.stop()
    RESULTS["stopped"] = list(ps.supports(spark).values())
    print("RESULTS", json.dumps(RESULTS))


if __name__ == "__main__":
    main()
