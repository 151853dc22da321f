"""Run the functions of pyrs.spark on a cluster whose executors lack pyrs, kill executors, and print the results.

Arguments: the URL of the master, a folder that all processes share, settings of the session as ``name=value``, and
names of cases. Without names, all cases run that need no additional settings.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark import SparkFiles, TaskContext, cloudpickle

import pyrs
from pyrs import spark as ps
from pyrs.jvm.gateways.jars import packaged_jars
from pyrs.testing import TestSubscriber
from tests.interop.systems.recipes import load_recipe
from tests.sessions import spark_session
from tests.spark import keyed_events
from tests.spark.late_workers import repeat_if_late

RESULTS: dict[str, Any] = {}
# Cases run in the order of their definition. Between two that kill an executor, others give Spark time to replace it.
CASES: dict[str, Callable[[Any, Path], None]] = {}
SPECULATIVE = ("for_each_partition_with_speculation", "apply_with_speculation", "from_dataframe_with_speculation")
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "3s",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.task.duration.threshold": "3s",  # for a job of from_dataframe, which may have a single task
}
WITH_SETTINGS = {*SPECULATIVE, "throughput", "postgresql"}
REACTOR = ["io.projectreactor:reactor-core:3.7.12"]
JVM_OPTIONS = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
DEADLINE_SECONDS = 100
ROWS, PARTITIONS = 4000, 4


def case(function: Callable[[Any, Path], Any]) -> Callable[[Any, Path], None]:
    def run(spark: Any, folder: Path) -> None:
        began = time.monotonic()
        try:
            RESULTS[function.__name__] = repeat_if_late(function, spark, folder)
        except Exception as error:
            RESULTS[function.__name__] = f"{type(error).__name__}: {error}"
        print(f"{function.__name__}: {time.monotonic() - began:.1f} s: {RESULTS[function.__name__]}", file=sys.stderr)

    CASES[function.__name__] = run
    return run


def numbers(spark: Any) -> Any:
    return spark.range(0, ROWS, 1, PARTITIONS)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def is_middle_of_first_attempt(number: int) -> bool:
    """Return whether the number is the middle of partition 1, in the first attempt of its task."""
    context = TaskContext.get()
    return context.partitionId() == 1 and context.attemptNumber() == 0 and number == ROWS // PARTITIONS * 3 // 2


def kill_once(number: int, marker: Path, worker: bool = False) -> None:
    """Kill the executor of this task in the middle of partition 1, in the first attempt."""
    if is_middle_of_first_attempt(number):
        marker.touch()
        kill_executor(worker)


def kill_executor(worker: bool = False) -> None:
    """Kill the executor of this task with SIGKILL, and optionally Spark's Worker, its parent."""
    # The parent of a Python worker is pyspark.daemon, whose parent is the executor.
    executor = parent_of(os.getppid())
    if worker:
        os.kill(parent_of(executor), signal.SIGKILL)
    os.kill(executor, signal.SIGKILL)
    time.sleep(60)


def kill_in_batches(marker: Path) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def check_batches(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                kill_once(number, marker)
            yield batch

    return check_batches


def await_exit(pid: int) -> bool:
    """Wait until a process ends; return whether it has ended before the deadline."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    return not Path(f"/proc/{pid}").exists()


def has_each_number_once(elements: list[int]) -> bool:
    return sorted(elements) == list(range(ROWS))


@case
def supports_before_ship(spark: Any, folder: Path) -> Any:
    return [ps.supports(spark)[name] for name in ("apply", "for_each_partition", "from_dataframe")]


@case
def ship(spark: Any, folder: Path) -> Any:
    ps.ship(spark)
    return ps.supports(spark)


@case
def list_working_folders(spark: Any, folder: Path) -> Any:
    def working_folder(rows: Any) -> Any:
        return rows.map(lambda _: (os.path.realpath("."),))

    return sorted({row.folder for row in ps.apply(numbers(spark), working_folder, "folder string").collect()})


@case
def from_dataframe(spark: Any, folder: Path) -> Any:
    frame = numbers(spark).selectExpr("id", "cast(id as string) text", "timestamp_seconds(id) time")
    return ps.from_dataframe(frame).collect(timeout=DEADLINE_SECONDS) == frame.collect()


@case
def from_dataframe_with_a_killed_executor(spark: Any, folder: Path) -> Any:
    marker = folder / "killed-1"
    frame = numbers(spark).mapInArrow(kill_in_batches(marker), "id long")
    rows = ps.from_dataframe(frame, "tuples").collect(timeout=DEADLINE_SECONDS)
    return marker.exists() and has_each_number_once([n for (n,) in rows])


@case
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


@case
def for_each_frame(spark: Any, folder: Path) -> Any:
    sums: list[int] = []
    rows = pyrs.range(1000).map(lambda n: (n,))
    single = ps.for_each_frame(rows, "n long", lambda df: sums.append(df.groupBy().sum().first()[0]), 300, spark=spark)
    return [single.block(timeout=DEADLINE_SECONDS), sum(sums)]


@case
def apply_with_a_killed_executor(spark: Any, folder: Path) -> Any:
    marker = folder / "killed-2"

    def stage(rows: Any) -> Any:
        return rows.do_on_next(lambda row: kill_once(row.id, marker)).map(lambda row: (row.id,))

    rows = ps.apply(numbers(spark), stage, "id long").collect()
    return marker.exists() and has_each_number_once([row.id for row in rows])


@case
def from_publishers(spark: Any, folder: Path) -> Any:
    """Return the numbers, and whether every one was created outside the driver."""
    driver = os.getpid()

    def range_from(first: int) -> Any:
        return pyrs.range(first, first + 10).map(lambda n: (n, os.getpid() != driver))

    rows = ps.from_publishers(spark, range(0, 80, 10), range_from, "n long, elsewhere boolean").collect()
    return [[row.n for row in rows], all(row.elsewhere for row in rows)]


def send_through_jvm(elements: Any) -> Any:
    """Send elements through a JVM of this process; return each with the process id and the start time of the JVM."""
    from pyrs import jvm

    def pairs(bridge: Any) -> Any:
        runtime = bridge.java_class("java.lang.management.ManagementFactory").getRuntimeMXBean()
        assert runtime.getPid() == os.getpid()
        process = f"{os.getpid()} {runtime.getStartTime()}"
        flux = bridge.java_class("reactor.core.publisher.Flux").from_(bridge.to_jvm(elements))
        return bridge.from_jvm(flux.hide()).map(lambda n: (n, process))

    return pyrs.using(lambda: jvm.launch(jvm_options=JVM_OPTIONS, packages=REACTOR), pairs)


@case
def use_bridge_on_executors(spark: Any, folder: Path) -> Any:
    """Return whether each row arrived once, the number of processes, and the number of their JVMs."""
    size = ROWS // PARTITIONS

    def stage(rows: Any) -> Any:
        return send_through_jvm(rows.map(lambda row: row.id))

    def range_from(first: int) -> Any:
        return send_through_jvm(pyrs.range(first, first + size))

    rows = ps.apply(numbers(spark), stage, "n long, process string").collect()
    more = ps.from_publishers(spark, range(0, ROWS, size), range_from, "n long, process string").collect()
    processes = {row.process for row in rows + more}
    complete = has_each_number_once([row.n for row in rows]) and has_each_number_once([row.n for row in more])
    return [complete, len({process.split()[0] for process in processes}), len(processes)]


@case
def use_bridge_in_for_each_partition(spark: Any, folder: Path) -> Any:
    """Return the number of consumed rows, and the elements that the JVMs of the executors stored."""
    stored = folder / "stored-by-the-jvm"
    stored.mkdir()

    class ToJava(pyrs.Subscriber[Any]):
        """Stores elements in Java, and writes them to a file on completion."""

        def on_subscribe(self, subscription: pyrs.Subscription) -> None:
            from pyrs import jvm

            jar = SparkFiles.get(packaged_jars().reactive_streams.name)
            self.bridge = jvm.launch([jar], JVM_OPTIONS)
            self.list = self.bridge.java_class("java.util.ArrayList")()
            self.partition = str(TaskContext.get().partitionId())
            subscription.request(2**63 - 1)

        def on_next(self, row: Any) -> None:
            self.list.add(row.id)

        def on_error(self, error: BaseException) -> None:
            self.bridge.close()

        def on_complete(self) -> None:
            (stored / self.partition).write_text(json.dumps(self.bridge.value_of(self.list)))
            self.bridge.close()

    spark.sparkContext.addFile(str(packaged_jars().reactive_streams))
    count = ps.for_each_partition(spark.range(0, 40, 1, 4), ToJava).block(timeout=DEADLINE_SECONDS)
    return [count, sorted(n for file in stored.iterdir() for n in json.loads(file.read_text()))]


@case
def from_publishers_with_a_killed_executor(spark: Any, folder: Path) -> Any:
    marker, size = folder / "killed-3", ROWS // PARTITIONS

    def range_from(first: int) -> Any:
        return pyrs.range(first, first + size).do_on_next(lambda n: kill_once(n, marker)).map(lambda n: (n,))

    rows = ps.from_publishers(spark, range(0, ROWS, size), range_from, "n long").collect()
    return marker.exists() and has_each_number_once([row.n for row in rows])


@case
def launch_with_missing_package(spark: Any, folder: Path) -> Any:
    """Return the message of the error that a missing package causes."""

    def launch(_: int) -> Any:
        from pyrs import jvm

        jvm.launch(packages=["example:missing:1.0"])

    try:
        ps.from_publishers(spark, [0], launch, "n long").collect()
    except Exception as error:
        return str(error)


@case
def streaming_for_each_partition(spark: Any, folder: Path) -> Any:
    source = spark.readStream.schema("n long").json(str(folder / "in"))
    single = ps.for_each_partition(
        source, lambda: TestSubscriber(None), checkpoint=str(folder / "c2"), trigger={"availableNow": True}
    )
    return single.block(timeout=DEADLINE_SECONDS)


@case
def apply_by_key_with_a_killed_executor(spark: Any, folder: Path) -> Any:
    """Kill an executor in the second batch; return whether the rows equal those of the same stage in the driver."""
    given, results, marker = folder / "keyed-events", folder / "keyed-results", folder / "killed-5"
    keyed_events.write_events(given, count=600, files=3, users=6, values=40)
    totals = keyed_events.totals  # a stage that refers to the module would need all that the module imports

    def stage(rows: Any) -> Any:
        numbered = itertools.count(1)

        def kill(_: Any) -> None:
            if next(numbered) == 10 and TaskContext.get().getLocalProperty("streaming.sql.batchId") == "1":
                try:
                    marker.touch(exist_ok=False)
                except FileExistsError:
                    return  # another task has killed its executor already
                kill_executor()

        return totals(rows.do_on_next(kill))

    cloudpickle.register_pickle_by_value(keyed_events)  # the executors lack the tests
    spark.conf.set(*keyed_events.ROCKSDB)
    keyed_events.run(spark, given, results, stage)
    spark.conf.unset(keyed_events.ROCKSDB[0])
    return marker.exists() and keyed_events.stored(results) == keyed_events.expected(given) != []


@case
def events(spark: Any, folder: Path) -> Any:
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    ps.events(spark).subscribe(subscriber)
    query = spark.readStream.format("rate").load().writeStream.format("noop").start()
    subscriber.await_count(1, DEADLINE_SECONDS)
    query.stop()
    subscriber.cancel()
    return type(subscriber.elements[0]).__name__


@case
def read_stream(spark: Any, folder: Path) -> Any:
    frame = ps.read_stream(spark, pyrs.range(ROWS).map(lambda n: (n,)), "n long", journal=str(folder / "journal"))
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(folder / "c3"))
    query = writer.trigger(availableNow=True).start(str(folder / "out"))
    query.awaitTermination(DEADLINE_SECONDS)
    return has_each_number_once([row.n for row in spark.read.parquet(str(folder / "out")).collect()])


@case
def stream_from_publishers_with_a_killed_executor(spark: Any, folder: Path) -> Any:
    marker, size = folder / "killed-7", ROWS // PARTITIONS
    rows: list[int] = []

    def range_of(first: int, start: int, end: int) -> Any:
        numbers = pyrs.range(first + start, first + end)
        return numbers.do_on_next(lambda n: kill_once(n, marker)).map(lambda n: (n,))

    df = ps.stream_from_publishers(spark, range(0, ROWS, size), range_of, "n long", lambda first: size, limit=600)
    writer = df.writeStream.foreachBatch(lambda batch, _: rows.extend(row.n for row in batch.collect()))
    query = writer.option("checkpointLocation", str(folder / "ranges")).trigger(availableNow=True).start()
    return query.awaitTermination(DEADLINE_SECONDS) and marker.exists() and has_each_number_once(rows)


def deliver_to_subscribers(
    spark: Any, received: Path, disturb: Callable[[int, Path], object]
) -> tuple[int, bool, list[int]]:
    """Return the number of consumed rows, whether all were delivered, and the partitions with repeated rows."""
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

    count = ps.for_each_partition(numbers(spark), Recorder).block(timeout=DEADLINE_SECONDS)
    delivered = Counter(int(line) for file in received.glob("*-*") for line in file.read_text().splitlines())
    repeated = {n * PARTITIONS // ROWS for n, times in delivered.items() if times > 1}
    return count, delivered.keys() == set(range(ROWS)), sorted(repeated)


@case
def for_each_partition_with_a_killed_executor(spark: Any, folder: Path) -> Any:
    return deliver_to_subscribers(spark, folder / "received", kill_once)


def hang_once(number: int, marker: Path) -> None:
    """Sleep in the middle of partition 1, in the first attempt, until Spark kills the task."""
    if is_middle_of_first_attempt(number):
        marker.touch()
        time.sleep(DEADLINE_SECONDS)


@case
def for_each_partition_with_speculation(spark: Any, folder: Path) -> Any:
    return deliver_to_subscribers(spark, folder / "speculative", hang_once)


def numbers_with_a_hung_task(spark: Any, marker: Path) -> Any:
    """Return a DataFrame of the numbers and the attempt of their task. The first attempt for partition 1 hangs."""

    def stage(rows: Any) -> Any:
        attempt = TaskContext.get().attemptNumber()
        return rows.do_on_next(lambda row: hang_once(row.id, marker)).map(lambda row: (row.id, attempt))

    return ps.apply(numbers(spark), stage, "id long, attempt int")


def are_from_second_attempt(rows: Any) -> bool:
    """Return whether each row arrived once, and those of partition 1 come from the second attempt."""
    attempts = {attempt for number, attempt in rows if number * PARTITIONS // ROWS == 1}
    return has_each_number_once([number for number, _ in rows]) and attempts == {1}


@case
def apply_with_speculation(spark: Any, folder: Path) -> Any:
    return are_from_second_attempt(numbers_with_a_hung_task(spark, folder / "hung-1").collect())


@case
def from_dataframe_with_speculation(spark: Any, folder: Path) -> Any:
    return are_from_second_attempt(
        ps.from_dataframe(numbers_with_a_hung_task(spark, folder / "hung-2"), "tuples").collect(
            timeout=DEADLINE_SECONDS
        )
    )


@case
def use_bridge_with_a_killed_executor(spark: Any, folder: Path) -> Any:
    """Return whether each row arrived once, and whether the Python worker of the killed executor has ended."""
    marker, workers = folder / "killed-4", folder / "workers"
    workers.mkdir()

    def stage(rows: Any) -> Any:
        context = TaskContext.get()
        (workers / f"{context.partitionId()}-{context.attemptNumber()}").write_text(str(os.getpid()))
        return send_through_jvm(rows.map(lambda row: row.id)).do_on_next(lambda pair: kill_once(pair[0], marker))

    rows = ps.apply(numbers(spark), stage, "n long, process string").collect()
    killed = int((workers / "1-0").read_text())
    return [marker.exists() and has_each_number_once([row.n for row in rows]), await_exit(killed)]


@case
def measure_task_results(spark: Any, folder: Path) -> Any:
    """Return the size of the rows, of the task results of a copy to files, and of the task results of a collect."""
    rows, size, length = 8000, 1000, 1000

    def random_rows(first: int) -> Any:
        return send_through_jvm(pyrs.range(first, first + size)).map(
            lambda pair: (pair[0], os.urandom(length // 2).hex())
        )

    frame = ps.apply(
        ps.from_publishers(spark, range(0, rows, size), random_rows, "n long, text string"),
        identity,
        "n long, text string",
    )
    copied = result_size(spark, lambda: frame.write.parquet(str(folder / "copied")))
    collected = result_size(spark, lambda: spark.read.parquet(str(folder / "copied")).collect())
    return [rows * length, copied, collected]


def identity(rows: Any) -> Any:
    return rows


def result_size(spark: Any, run: Callable[[], object]) -> int:
    """Return the size in bytes of the task results that the driver receives from the jobs of ``run``."""
    context = spark.sparkContext
    group = f"measured-{time.monotonic_ns()}"
    context.setJobGroup(group, "")
    run()
    tracker, store = context.statusTracker(), context._jsc.sc().statusStore()
    stages = {stage for job in tracker.getJobIdsForGroup(group) for stage in tracker.getJobInfo(job).stageIds}
    return sum(store.lastStageAttempt(stage).resultSize() for stage in stages)


@case
def throughput(spark: Any, folder: Path) -> Any:
    """Return the seconds for a job whose Publishers, in the executors' JVMs, delay each element by 40 ms."""

    def delayed_range(count: int) -> Any:
        from pyrs import jvm

        def delayed(bridge: Any) -> Any:
            delay = bridge.java_class("java.time.Duration").ofMillis(40)
            flux = bridge.java_class("reactor.core.publisher.Flux").range(0, count).delayElements(delay)
            return bridge.from_jvm(flux).map(lambda n: (n,))

        return pyrs.using(lambda: jvm.launch(jvm_options=JVM_OPTIONS, packages=REACTOR), delayed)

    def seconds(counts: list[int]) -> float:
        began = time.monotonic()
        ps.from_publishers(spark, counts, delayed_range, "n long").write.format("noop").mode("overwrite").save()
        return time.monotonic() - began

    seconds([10] * 4)  # start the JVM of each worker process
    return seconds([75] * 8)


@case
def postgresql(spark: Any, folder: Path) -> Any:
    """Run the recipe twice; return the number of totals that each run has written, and the totals."""
    database = json.loads((folder / "database.json").read_text())
    recipe = load_recipe("postgresql")

    def sql(method: Any, text: str) -> Any:
        return recipe.connected_task(lambda *where: method(*where, text), **database).collect(timeout=DEADLINE_SECONDS)

    orders = "SELECT n AS id, n % 10 AS customer, n AS amount FROM generate_series(0, 2999) n"
    sql(recipe.changed, f"CREATE TABLE orders AS {orders}")
    sql(recipe.changed, "CREATE TABLE totals (customer bigint PRIMARY KEY, total bigint)")
    ranges = [(first, first + 1000) for first in range(0, 3000, 1000)]
    written = [recipe.add_up(spark, ranges, **database) for _ in range(2)]
    return [*written, sql(recipe.rows, "SELECT customer, total FROM totals ORDER BY customer")]


@case
def fail_partition(spark: Any, folder: Path) -> Any:
    frame = spark.sql("select if(id = 3, raise_error('planned failure'), id) from range(0, 4, 1, 4)")
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    ps.from_dataframe(frame, "tuples").subscribe(subscriber)
    error = subscriber.await_error(ps.PartitionFailed, DEADLINE_SECONDS)
    return [error.partition, [n for (n,) in subscriber.elements]]


@case
def attach(spark: Any, folder: Path) -> Any:
    with ps.attach(spark) as bridge:
        return bridge.from_jvm(bridge.to_jvm(pyrs.range(5))).collect(timeout=DEADLINE_SECONDS)


@case
def fail_stage(spark: Any, folder: Path) -> Any:
    """Return the message of the error, and the number of attempts of the task."""
    attempts = folder / "attempts"
    attempts.mkdir()

    def stage(rows: Any) -> Any:
        (attempts / str(TaskContext.get().attemptNumber())).touch()
        return rows.map(lambda row: (row.id // 0,))

    try:
        ps.apply(spark.range(0, 1, 1, 1), stage, "n long").collect()
    except Exception as error:
        return [str(error), len(list(attempts.iterdir()))]


@case
def lose_worker(spark: Any, folder: Path) -> Any:
    if not spark.sparkContext.master.startswith("spark://"):
        return "not tested: the workers are threads of the driver"
    marker = folder / "killed-worker"

    def stage(rows: Any) -> Any:
        return rows.do_on_next(lambda row: kill_once(row.id, marker, True)).map(lambda row: (row.id,))

    rows = ps.from_dataframe(ps.apply(numbers(spark), stage, "id long"), "tuples").collect(timeout=DEADLINE_SECONDS)
    return marker.exists() and has_each_number_once([n for (n,) in rows])


def main() -> None:
    master, folder, chosen = sys.argv[1], Path(sys.argv[2]), {each for each in sys.argv[3:] if "=" not in each}
    options = {
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", ""),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100",
        "spark.sql.session.timeZone": "UTC",
    }
    options |= dict(each.split("=", 1) for each in sys.argv[3:] if "=" in each)
    spark = spark_session(master, options)
    try:
        for name, run in CASES.items():
            if name in chosen or not (chosen or name in WITH_SETTINGS):
                run(spark, folder)
    finally:
        spark.stop()
    print("RESULTS", json.dumps(RESULTS))


if __name__ == "__main__":
    main()
