"""Run every function of pyrs.spark on a cluster whose executors lack pyrs, and kill executors; print the results.

Args: the URL of the master, a folder that all processes see, and the names of the cases (all of them by default).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql import SparkSession

import pyrs
from pyrs import spark as ps
from pyrs.testing import TestSubscriber

# The cases that kill an executor are not adjacent, because a new executor starts in the meantime.
RESULTS: dict[str, Any] = {}
CASES: dict[str, Callable[[Any, Path], None]] = {}
SECONDS = 100
ROWS, PARTITIONS = 4000, 4


def recorded(function: Callable[[Any, Path], Any]) -> Callable[[Any, Path], None]:
    def run(spark: Any, folder: Path) -> None:
        began = time.monotonic()
        try:
            RESULTS[function.__name__] = function(spark, folder)
        except Exception as error:
            RESULTS[function.__name__] = f"{type(error).__name__}: {error}"
        print(f"{function.__name__}: {time.monotonic() - began:.1f} s", file=sys.stderr)

    CASES[function.__name__] = run
    return run


def numbers(spark: Any) -> Any:
    return spark.range(0, ROWS, 1, PARTITIONS)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def kill_once(number: int, marker: Path, worker: bool = False) -> None:
    """Kill this task's executor, with SIGKILL, in the middle of partition 1, at the first attempt."""
    context = TaskContext.get()
    if context.partitionId() == 1 and context.attemptNumber() == 0 and number == ROWS // PARTITIONS * 3 // 2:
        marker.touch()
        # The parent of a Python worker is pyspark.daemon, and the parent of that is the executor.
        executor = parent_of(os.getppid())
        if worker:
            os.kill(parent_of(executor), signal.SIGKILL)
        os.kill(executor, signal.SIGKILL)
        time.sleep(60)


def killing(marker: Path) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def batches_of(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                kill_once(number, marker)
            yield batch

    return batches_of


def exactly_once(elements: list[int]) -> bool:
    return sorted(elements) == list(range(ROWS))


@recorded
def before_shipping(spark: Any, folder: Path) -> Any:
    return [ps.supports(spark)[name] for name in ("apply", "for_each_partition", "from_dataframe")]


@recorded
def ship(spark: Any, folder: Path) -> Any:
    ps.ship(spark)
    return ps.supports(spark)


@recorded
def hosts(spark: Any, folder: Path) -> Any:
    def host(rows: Any) -> Any:
        return rows.map(lambda _: (os.path.realpath("."),))

    return sorted({row.folder for row in ps.apply(numbers(spark), host, "folder string").collect()})


@recorded
def from_dataframe(spark: Any, folder: Path) -> Any:
    frame = numbers(spark).selectExpr("id", "cast(id as string) text", "timestamp_seconds(id) time")
    return ps.from_dataframe(frame).collect(timeout=SECONDS) == frame.collect()


@recorded
def from_dataframe_with_a_killed_executor(spark: Any, folder: Path) -> Any:
    marker = folder / "killed-1"
    frame = numbers(spark).mapInArrow(killing(marker), "id long")
    rows = ps.from_dataframe(frame, "tuples").collect(timeout=SECONDS)
    return marker.exists() and exactly_once([n for (n,) in rows])


@recorded
def from_stream(spark: Any, folder: Path) -> Any:
    (folder / "in").mkdir()
    (folder / "in" / "rows.json").write_text("".join(f'{{"n": {n}}}\n' for n in range(100)))
    source = spark.readStream.schema("n long").json(str(folder / "in"))
    stream = ps.from_stream(source, "tuples", str(folder / "c1"), {"availableNow": True})
    received = []
    for batch in stream.to_iterable():
        received += [n for (n,) in batch.data]
        batch.ack()
    return received == list(range(100))


@recorded
def for_each_frame(spark: Any, folder: Path) -> Any:
    sums: list[int] = []
    rows = pyrs.range(1000).map(lambda n: (n,))
    single = ps.for_each_frame(rows, "n long", lambda df: sums.append(df.groupBy().sum().first()[0]), 300, spark=spark)
    return [single.block(timeout=SECONDS), sum(sums)]


@recorded
def apply_with_a_killed_executor(spark: Any, folder: Path) -> Any:
    marker = folder / "killed-2"

    def stage(rows: Any) -> Any:
        return rows.do_on_next(lambda row: kill_once(row.id, marker)).map(lambda row: (row.id,))

    rows = ps.apply(numbers(spark), stage, "id long").collect()
    return marker.exists() and exactly_once([row.id for row in rows])


@recorded
def from_publishers(spark: Any, folder: Path) -> Any:
    """Return the numbers, and whether they were created outside of the driver."""
    driver = os.getpid()

    def range_from(first: int) -> Any:
        return pyrs.range(first, first + 10).map(lambda n: (n, os.getpid() != driver))

    rows = ps.from_publishers(spark, range(0, 80, 10), range_from, "n long, elsewhere boolean").collect()
    return [[row.n for row in rows], all(row.elsewhere for row in rows)]


@recorded
def from_publishers_with_a_killed_executor(spark: Any, folder: Path) -> Any:
    marker, size = folder / "killed-3", ROWS // PARTITIONS

    def range_from(first: int) -> Any:
        return pyrs.range(first, first + size).do_on_next(lambda n: kill_once(n, marker)).map(lambda n: (n,))

    rows = ps.from_publishers(spark, range(0, ROWS, size), range_from, "n long").collect()
    return marker.exists() and exactly_once([row.n for row in rows])


@recorded
def streaming_for_each_partition(spark: Any, folder: Path) -> Any:
    source = spark.readStream.schema("n long").json(str(folder / "in"))
    single = ps.for_each_partition(
        source, lambda: TestSubscriber(None), checkpoint=str(folder / "c2"), trigger={"availableNow": True}
    )
    return single.block(timeout=SECONDS)


@recorded
def events(spark: Any, folder: Path) -> Any:
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    ps.events(spark).subscribe(subscriber)
    query = spark.readStream.format("rate").load().writeStream.format("noop").start()
    subscriber.await_count(1, SECONDS)
    query.stop()
    subscriber.cancel()
    return type(subscriber.elements[0]).__name__


@recorded
def read_stream(spark: Any, folder: Path) -> Any:
    frame = ps.read_stream(spark, pyrs.range(ROWS).map(lambda n: (n,)), "n long", journal=str(folder / "journal"))
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(folder / "c3"))
    query = writer.trigger(availableNow=True).start(str(folder / "out"))
    query.awaitTermination(SECONDS)
    return exactly_once([row.n for row in spark.read.parquet(str(folder / "out")).collect()])


def delivered_to_subscribers(
    spark: Any, received: Path, disturb: Callable[[int, Path], object]
) -> tuple[int, bool, list[int]]:
    """Return the count, whether nothing is lost, and in which partitions elements were delivered again."""
    received.mkdir()

    class Recorder(pyrs.Subscriber[Any]):
        def on_subscribe(self, subscription: pyrs.Subscription) -> None:
            context = TaskContext.get()
            self.path = received / f"{context.partitionId()}-{context.attemptNumber()}"
            self.subscription = subscription
            subscription.request(1)

        def on_next(self, row: Any) -> None:
            with self.path.open("a") as file:
                print(row.id, file=file)
            disturb(row.id, received / "disturbed")
            self.subscription.request(1)

        def on_error(self, error: BaseException) -> None:
            pass

        def on_complete(self) -> None:
            pass

    count = ps.for_each_partition(numbers(spark), Recorder).block(timeout=SECONDS)
    delivered = Counter(int(line) for file in received.glob("*-*") for line in file.read_text().splitlines())
    repeated = {n * PARTITIONS // ROWS for n, times in delivered.items() if times > 1}
    return count, delivered.keys() == set(range(ROWS)), sorted(repeated)


@recorded
def for_each_partition_with_a_killed_executor(spark: Any, folder: Path) -> Any:
    return delivered_to_subscribers(spark, folder / "received", kill_once)


@recorded
def a_partition_that_fails(spark: Any, folder: Path) -> Any:
    frame = spark.sql("select if(id = 3, raise_error('no such luck'), id) from range(0, 4, 1, 4)")
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    ps.from_dataframe(frame, "tuples").subscribe(subscriber)
    error = subscriber.await_error(ps.PartitionFailed, SECONDS)
    return [error.partition, [n for (n,) in subscriber.elements]]


@recorded
def attach(spark: Any, folder: Path) -> Any:
    with ps.attach(spark) as bridge:
        return bridge.from_jvm(bridge.to_jvm(pyrs.range(5))).collect(timeout=SECONDS)


@recorded
def a_stage_that_fails(spark: Any, folder: Path) -> Any:
    """Return the error, and the number of attempts of the task."""
    attempts = folder / "attempts"
    attempts.mkdir()

    def stage(rows: Any) -> Any:
        (attempts / str(TaskContext.get().attemptNumber())).touch()
        return rows.map(lambda row: (row.id // 0,))

    try:
        ps.apply(spark.range(0, 1, 1, 1), stage, "n long").collect()
    except Exception as error:
        return [str(error), len(list(attempts.iterdir()))]


@recorded
def a_lost_worker(spark: Any, folder: Path) -> Any:
    if not spark.sparkContext.master.startswith("spark://"):
        return "not tested: the workers are threads of the driver"
    marker = folder / "killed-worker"

    def stage(rows: Any) -> Any:
        return rows.do_on_next(lambda row: kill_once(row.id, marker, True)).map(lambda row: (row.id,))

    rows = ps.from_dataframe(ps.apply(numbers(spark), stage, "id long"), "tuples").collect(timeout=SECONDS)
    return marker.exists() and exactly_once([n for (n,) in rows])


def main() -> None:
    master, folder, chosen = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100",
        "spark.sql.session.timeZone": "UTC",
    }
    builder = SparkSession.builder.master(master).appName("pyrs-tests")
    for key, value in options.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        for name, case in CASES.items():
            if name in chosen or not chosen:
                case(spark, folder)
    finally:
        spark.stop()
    print("RESULTS", json.dumps(RESULTS))


if __name__ == "__main__":
    main()
