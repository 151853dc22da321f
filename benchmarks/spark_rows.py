"""The rows of Spark: DataFrames in Python, compared with Spark's own methods."""

from __future__ import annotations

import os
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Any

import pyrs
from benchmarks.budgets import AtLeast, Budget, Faster, Verdict, Within, memory_verdict
from benchmarks.measure import Contender
from pyrs import spark as ps
from pyrs.testing import TestSubscriber

MILLION = 1_000_000
TINY = 1_000
ARROW_BATCH = 10_000
ROW = "id long, half double, name string"


@dataclass(frozen=True)
class SparkRow:
    """One measurement with a driver.

    Attributes:
        name: the argument of ``--only``.
        title: a description of the measurement.
        cores: the number of concurrent tasks.
        contenders: creates the contenders; "ours" is the first. Empty if only ``memory`` is measured.
        budgets: one line of the table each.
        memory: measures a paused stream, if any.
    """

    name: str
    title: str
    cores: int
    contenders: Callable[[Any], Sequence[Contender]]
    budgets: Sequence[Budget]
    memory: Callable[[Any], list[Verdict]] | None = None


@contextmanager
def session(cores: int) -> Iterator[Any]:
    """Start a local driver."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # otherwise workers use the first python3 on the path
    builder = SparkSession.builder.master(f"local[{cores}]").appName("pyrs-benchmarks")
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "3g",  # toLocalIterator leaves objects in the heap with each run
        "spark.log.level": "ERROR",
    }
    for key, value in options.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def table(spark: Any, rows: int, partitions: int = 8) -> Any:
    """Create rows of a bigint, a double and a string."""
    return spark.range(0, rows, 1, partitions).selectExpr("id", "id * 0.5d as half", "concat('row-', id) as name")


def slow_partitions(spark: Any, partitions: int) -> Any:
    """Create partitions of one row that take 200 milliseconds each."""
    df = spark.range(0, partitions, 1, partitions)

    def late(rows: Any) -> Any:
        import time

        time.sleep(0.2)
        yield from rows

    return df.rdd.mapPartitions(late).toDF(df.schema)


def timed(consume: Callable[[], int], expected: int) -> float:
    start = time.perf_counter()
    count = consume()
    seconds = time.perf_counter() - start
    assert count == expected, f"{count} of {expected} arrived"
    return seconds


def count_of(elements: Iterable[Any]) -> int:
    count = 0
    for _ in elements:
        count += 1
    return count


def run_of_stream(make: Callable[[int], Any], size: Callable[[Any], int] | None = None) -> Callable[[int], float]:
    def run(elements: int) -> float:
        stream = make(elements)

        def consume() -> int:
            # Python code handles each element, as in the loops over Spark's iterators.
            count = 0

            def action(element: Any) -> None:
                nonlocal count
                count += 1 if size is None else size(element)

            stream.for_each(action)
            return count

        return timed(consume, elements)

    return run


def run_of_iterator(make: Callable[[int], Any]) -> Callable[[int], float]:
    return lambda elements: timed(lambda: count_of(make(elements).toLocalIterator(prefetchPartitions=True)), elements)


def local_iterator(spark: Any, rows: int) -> Contender:
    return Contender("toLocalIterator", rows, run_of_iterator(lambda n: table(spark, n)))


def shaped(spark: Any, as_: str) -> Contender:
    return Contender("ours", MILLION, run_of_stream(lambda n: ps.from_dataframe(table(spark, n), as_=as_)))


def batches(spark: Any) -> Sequence[Contender]:
    ours = run_of_stream(lambda n: ps.from_dataframe(table(spark, n), as_="arrow"), lambda batch: batch.num_rows)
    whole = Contender("toArrow", MILLION, lambda n: timed(lambda: table(spark, n).toArrow().num_rows, n))
    return (Contender("ours", MILLION, ours), whole)


def first_of_pyrs(spark: Any) -> Callable[[int], float]:
    def run(elements: int) -> float:
        arrived = Event()
        stream = ps.from_dataframe(table(spark, MILLION))
        start = time.perf_counter()
        subscription = stream.subscribe(on_next=lambda row: arrived.set(), request=1)
        assert arrived.wait(60)
        seconds = time.perf_counter() - start
        subscription.cancel()
        return seconds

    return run


def first_of_spark(spark: Any) -> Callable[[int], float]:
    def run(elements: int) -> float:
        df = table(spark, MILLION)
        start = time.perf_counter()
        iterator = df.toLocalIterator(prefetchPartitions=True)
        next(iterator)
        return time.perf_counter() - start

    return run


def first(spark: Any) -> Sequence[Contender]:
    return Contender("ours", 1, first_of_pyrs(spark)), Contender("toLocalIterator", 1, first_of_spark(spark))


def tiny(spark: Any) -> Sequence[Contender]:
    """Read many small partitions; an element of the measurement is a partition."""

    def run(partitions: int) -> float:
        df = table(spark, partitions * TINY, partitions)
        return run_of_stream(lambda n: ps.from_dataframe(df, as_="tuples"))(partitions * TINY)

    return (Contender("ours", TINY, run),)


def sleepers(spark: Any) -> Sequence[Contender]:
    ours = run_of_stream(lambda n: ps.from_dataframe(slow_partitions(spark, n), window=8))
    return Contender("ours", 32, ours), Contender(
        "toLocalIterator", 32, run_of_iterator(lambda n: slow_partitions(spark, n))
    )


def streamed(make: Callable[[int], Any]) -> Callable[[int], float]:
    """Run a query that reads a whole streaming DataFrame."""

    def run(elements: int) -> float:
        df = make(elements)

        def consume() -> int:
            query = df.writeStream.format("noop").trigger(availableNow=True).start()
            query.awaitTermination()
            return sum(progress["numInputRows"] for progress in query.recentProgress)

        return timed(consume, elements)

    return run


def sources(spark: Any, rows: int, max_rows: int, as_: str) -> Sequence[Contender]:
    """Compare ``read_stream`` with a hand-written Python Data Source for the same rows."""

    import pyarrow

    def ours(elements: int) -> Any:
        if as_ == "arrow":
            numbers = range(ARROW_BATCH)
            values = {"id": list(numbers), "half": [i * 0.5 for i in numbers], "name": [f"row-{i}" for i in numbers]}
            batch = pyarrow.RecordBatch.from_pydict(values)
            publisher = pyrs.range(elements // ARROW_BATCH).map(lambda _: batch)
            capacity = 2 * max_rows // ARROW_BATCH
            return ps.read_stream(spark, publisher, ROW, max_rows=max_rows, capacity=capacity, as_=as_)
        return ps.read_stream(spark, pyrs.range(elements).map(lambda i: (i, i * 0.5, f"row-{i}")), ROW, max_rows)

    def raw(elements: int) -> Any:
        source = raw_source(elements, max_rows, as_)
        spark.dataSource.register(source)
        return spark.readStream.format(source.name()).load()

    return Contender("ours", rows, streamed(ours)), Contender("raw Data Source", rows, streamed(raw))


def raw_source(elements: int, max_rows: int, as_: str) -> Any:
    """Create a hand-written Python Data Source, whose tasks create their rows.

    A task yields one Arrow batch of all its rows; with ``as_="arrow"``, it yields one smaller batch repeatedly.
    """
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
    from pyspark.sql.streaming.datasource import ReadMaxRows, SupportsTriggerAvailableNow

    class Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
        def initialOffset(self) -> Any:
            return {"row": 0}

        def getDefaultReadLimit(self) -> Any:
            return ReadMaxRows(max_rows)

        def prepareForTriggerAvailableNow(self) -> None:
            pass

        def latestOffset(self, start: Any, limit: Any) -> Any:
            return {"row": min(elements, start["row"] + limit.max_rows)}

        def partitions(self, start: Any, end: Any) -> Any:
            return [InputPartition((start["row"], end["row"]))]

        def read(self, partition: Any) -> Any:
            import pyarrow

            start, end = partition.value
            numbers = range(ARROW_BATCH) if as_ == "arrow" else range(start, end)
            arrays = [list(numbers), [i * 0.5 for i in numbers], [f"row-{i}" for i in numbers]]
            batch = pyarrow.RecordBatch.from_arrays(list(map(pyarrow.array, arrays)), ["id", "half", "name"])
            for _ in range(start, end, len(numbers)):
                yield batch

    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return f"raw_{as_}_{elements}"

        def schema(self) -> str:
            return ROW

        def streamReader(self, schema: Any) -> Any:
            return Reader()

    return Source


def paused(spark: Any) -> list[Verdict]:
    """Request a few elements, then count the started jobs and measure the memory."""
    window, partitions = 2, 16
    df = table(spark, 2 * MILLION, partitions)
    encoded = sum(batch.nbytes for batch in ps.from_dataframe(df, as_="arrow").collect()) / partitions
    tracker = spark.sparkContext.statusTracker()
    before = len(tracker.getJobIdsForGroup(None))
    tracemalloc.start()
    try:
        subscriber: TestSubscriber[Any] = TestSubscriber(4)
        ps.from_dataframe(df, window=window).subscribe(subscriber)
        subscriber.await_count(4, 60)
        while tracker.getActiveJobsIds():
            time.sleep(0.01)
        memory = tracemalloc.get_traced_memory()[0] / 1e6
        started = len(tracker.getJobIdsForGroup(None)) - before
        time.sleep(1)
        later = len(tracker.getJobIdsForGroup(None)) - before
    finally:
        tracemalloc.stop()
        subscriber.cancel()
    jobs = Verdict(
        "paused",
        f"{later} jobs",
        "",
        f"{later / window:.2f}",
        f"<= {window} jobs, none while paused",
        later == started <= window,
    )
    # The 4 MB are for the batch that is being signalled: 10,000 rows as Python objects.
    return [
        jobs,
        memory_verdict("paused", memory, window * encoded / 1e6 + 4, f"a partition is {encoded / 1e6:.1f} MB"),
    ]


SPARK_ROWS = (
    SparkRow(
        "tuples",
        "a million rows as tuples",
        1,
        lambda spark: (shaped(spark, "tuples"), local_iterator(spark, MILLION)),
        (Faster("toLocalIterator", 4),),
    ),
    SparkRow(
        "rows",
        "a million rows as Rows",
        1,
        lambda spark: (shaped(spark, "rows"), local_iterator(spark, MILLION)),
        (Faster("toLocalIterator", 2),),
    ),
    SparkRow("arrow", "a million rows as Arrow batches", 1, batches, (Faster("toArrow", 1),)),
    SparkRow("first", "the first of a million rows", 1, first, (Within("toLocalIterator", 0.5),)),
    SparkRow("tiny", "1,000 partitions of 1,000 rows", 1, tiny, (AtLeast(1000 / 3),)),
    SparkRow("paused", "a Subscriber that pauses", 1, lambda spark: (), (), paused),
    SparkRow("sleepers", "32 partitions that sleep, eight at a time", 8, sleepers, (Faster("toLocalIterator", 3),)),
    SparkRow(
        "read-stream",
        "three million elements into a streaming query, 100,000 per batch",
        1,
        lambda spark: sources(spark, 3 * MILLION, MILLION // 10, "rows"),
        (Faster("raw Data Source", 0.8), AtLeast(400_000)),
    ),
    SparkRow(
        "read-stream-arrow",
        "ten million rows in Arrow batches into a streaming query, a million per batch",
        1,
        lambda spark: sources(spark, 10 * MILLION, MILLION, "arrow"),
        (Faster("raw Data Source", 0.5), AtLeast(2_000_000)),
    ),
)
