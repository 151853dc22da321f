"""from_stream with acknowledgement by demand: an unacknowledged batch does not delay a stop, and is redelivered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pyrs import spark as ps
from pyrs.testing import TestSubscriber
from tests.spark.jobs import JOB_DEADLINE, active_jobs
from tests.waiting import eventually


def committed(checkpoint: Path) -> set[int]:
    return {int(file.name) for file in (checkpoint / "commits").glob("[0-9]*")}


class Numbers:
    """A folder with one file for each batch."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark = spark
        self.source = folder / "source"
        self.source.mkdir()
        self.checkpoint = folder / "checkpoint"
        self._files = 0

    def add(self, *numbers: int) -> None:
        text = "\n".join(json.dumps({"n": n}) for n in numbers)
        hidden = self.source / f".{self._files}"
        hidden.write_text(text)
        os.utime(hidden, (self._files, self._files))  # Spark orders files by this time, and the clock may be coarse
        hidden.rename(self.source / f"{self._files:03}.json")
        self._files += 1

    def stream(self, **options: Any) -> Any:
        sdf = self.spark.readStream.schema("n long").option("maxFilesPerTrigger", 1).json(str(self.source))
        return ps.from_stream(
            sdf, **{"as_": "tuples", "checkpoint": self.checkpoint, "acknowledge": "request"} | options
        )

    def committed(self) -> set[int]:
        return committed(self.checkpoint)

    def wait_for_early_commit(self) -> None:
        """Run another query to completion. An early commit would happen during that time."""
        sdf = self.spark.readStream.schema("n long").option("maxFilesPerTrigger", 1).json(str(self.source))
        sdf.writeStream.format("noop").trigger(availableNow=True).start().awaitTermination()

    def query(self) -> Any:
        (query,) = self.spark.streams.active
        return query


@pytest.fixture
def numbers(spark: Any, tmp_path: Path) -> Iterator[Numbers]:
    yield Numbers(spark, tmp_path)
    for query in spark.streams.active:
        query.stop()


Subscribed = Callable[..., TestSubscriber[Any]]


@pytest.fixture
def subscribed(numbers: Numbers) -> Iterator[Subscribed]:
    subscribers: list[TestSubscriber[Any]] = []

    def subscribe(request: int | None = 1, **options: Any) -> TestSubscriber[Any]:
        subscriber: TestSubscriber[Any] = TestSubscriber(request)
        subscribers.append(subscriber)
        numbers.stream(**options).subscribe(subscriber)
        return subscriber

    yield subscribe
    for subscriber in subscribers:
        subscriber.cancel()
    eventually(lambda: not numbers.spark.streams.active, "a query still runs")


def test_batches_are_in_order_and_the_stream_completes(numbers: Numbers) -> None:
    numbers.add(1, 2)
    numbers.add(3)
    stream = numbers.stream(trigger={"availableNow": True})
    assert stream.collect(timeout=JOB_DEADLINE) == [ps.Batch(0, [(1,), (2,)]), ps.Batch(1, [(3,)])]
    assert numbers.committed() == {0, 1}
    assert stream.collect(timeout=JOB_DEADLINE) == []


def test_the_next_request_acknowledges_the_previous_batch(numbers: Numbers, subscribed: Subscribed) -> None:
    numbers.add(1)
    numbers.add(2)
    subscriber = subscribed()
    subscriber.await_count(1, JOB_DEADLINE)
    numbers.wait_for_early_commit()
    assert numbers.committed() == set()
    subscriber.request(1)
    assert subscriber.await_count(2, JOB_DEADLINE) == [ps.Batch(0, [(1,)]), ps.Batch(1, [(2,)])]
    numbers.wait_for_early_commit()
    assert numbers.committed() == {0}


def test_no_query_starts_before_the_first_request(numbers: Numbers, subscribed: Subscribed) -> None:
    numbers.add(1)
    subscriber = subscribed(0)
    assert numbers.spark.streams.active == []
    subscriber.request(1)
    subscriber.await_count(1, JOB_DEADLINE)


def test_a_stop_releases_a_waiting_batch_which_is_redelivered(numbers: Numbers, subscribed: Subscribed) -> None:
    numbers.add(1)
    subscriber = subscribed()
    subscriber.await_count(1, JOB_DEADLINE)
    query = numbers.query()
    query.stop()
    assert query.exception() is None
    subscriber.await_complete(JOB_DEADLINE)
    assert numbers.committed() == set()
    assert subscribed().await_count(1, JOB_DEADLINE) == [ps.Batch(0, [(1,)])]


def test_a_stop_while_a_batch_waits_takes_less_than_a_second(numbers: Numbers, subscribed: Subscribed) -> None:
    def seconds() -> float:
        subscriber = subscribed()
        subscriber.await_count(1, JOB_DEADLINE)
        query = numbers.query()
        started = time.monotonic()
        query.stop()
        subscriber.await_complete(JOB_DEADLINE)
        return time.monotonic() - started

    numbers.add(1)
    assert any(seconds() < 1 for _ in range(8)), "none of eight stops took less than a second"


def test_cancel_while_a_batch_waits_stops_the_query_without_a_commit(numbers: Numbers, subscribed: Subscribed) -> None:
    numbers.add(1)
    subscriber = subscribed()
    subscriber.await_count(1, JOB_DEADLINE)
    query = numbers.query()
    subscriber.cancel()
    eventually(lambda: not query.isActive)
    query.stop()  # returns when the query has terminated
    assert query.exception() is None
    eventually(lambda: not numbers.spark.streams.active)
    assert numbers.committed() == set()
    subscriber.assert_live()
    assert subscribed().await_count(1, JOB_DEADLINE) == [ps.Batch(0, [(1,)])]


def test_a_subscriber_that_raises_does_not_acknowledge(numbers: Numbers, subscribed: Subscribed) -> None:
    import pyrs

    numbers.add(1)
    dropped: list[BaseException] = []
    before = pyrs.set_error_hook(lambda error, where: dropped.append(error))
    try:

        def broken(batch: Any) -> None:
            raise ArithmeticError("mine")

        numbers.stream().subscribe(on_next=broken)
        eventually(lambda: dropped)
        eventually(lambda: not numbers.spark.streams.active)
    finally:
        pyrs.set_error_hook(before)
    assert numbers.committed() == set()
    assert subscribed().await_count(1, JOB_DEADLINE) == [ps.Batch(0, [(1,)])]


def test_a_cancel_while_the_query_waits_for_data_stops_it(numbers: Numbers, subscribed: Subscribed) -> None:
    numbers.add(1)
    subscriber = subscribed(None)
    subscriber.await_count(1, JOB_DEADLINE)
    eventually(lambda: numbers.committed() == {0})
    subscriber.cancel()
    eventually(lambda: not numbers.spark.streams.active)


def test_repr_shows_the_first_columns(spark: Any) -> None:
    wide = spark.readStream.format("rate").load().selectExpr(*(f"value AS {name}" for name in "abcde"))
    assert "from_stream(DataFrame[a, b, c, d, ...], as_='rows')" in repr(ps.from_stream(wide))


@pytest.mark.parametrize("as_", ["rows", "dicts", "arrow"])
def test_as_selects_the_type_of_the_data_of_a_batch(spark: Any, numbers: Numbers, as_: str) -> None:
    numbers.add(1, 2)
    sdf = spark.readStream.schema("n long").json(str(numbers.source))
    stream = ps.from_stream(sdf, as_=as_, trigger={"availableNow": True}, acknowledge="request")
    ((batch_id, data),) = stream.collect(timeout=JOB_DEADLINE)
    assert batch_id == 0
    if as_ == "arrow":
        assert data.to_pydict() == {"n": [1, 2]}
    else:
        assert [row["n"] for row in data] == [1, 2]


@pytest.mark.parametrize("as_", ["arrow", "pandas"])
def test_an_empty_batch_has_the_types_of_other_batches(spark: Any, numbers: Numbers, as_: str) -> None:
    if as_ == "pandas":
        pytest.importorskip("pandas")
    numbers.add(0)
    numbers.add(1)
    session = spark.newSession()
    session.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    sdf = session.readStream.schema("n long").option("maxFilesPerTrigger", 1).json(str(numbers.source))
    columns = ["cast(n as string) as s", "timestamp_seconds(n) as t", "array(timestamp_seconds(n)) as a"]
    stream = ps.from_stream(
        sdf.where("n > 0").selectExpr(*columns), as_, trigger={"availableNow": True}, acknowledge="request"
    )
    (_, empty), (_, other) = stream.collect(timeout=JOB_DEADLINE)
    assert (len(empty), len(other)) == (0, 1)
    if as_ == "arrow":
        assert empty.schema == other.schema
    else:
        assert list(empty.dtypes) == list(other.dtypes)


def test_integers_are_exact_if_another_partition_has_nulls(spark: Any) -> None:
    """pandas has doubles for small integers with nulls, and joined them with the exact integers as doubles."""
    pytest.importorskip("pandas")
    rates = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 4).option("numPartitions", 2).load()
    sdf = rates.selectExpr("if(value % 2 = 0, if(value = 0, null, 1L), value + 9007199254740992) as n")
    stream = ps.from_stream(sdf, "pandas", acknowledge="request").take(1)
    ((_, data),) = stream.collect(timeout=JOB_DEADLINE)
    exact = [9007199254740993, 9007199254740995]
    assert sorted(int(n) for n in data["n"] if n is not None and n == n) == [1, *exact]


def test_an_aggregate_is_read_in_update_mode(spark: Any, numbers: Numbers) -> None:
    numbers.add(1, 2, 1)
    sdf = spark.readStream.schema("n long").json(str(numbers.source)).groupBy("n").count()
    stream = ps.from_stream(
        sdf, as_="tuples", trigger={"availableNow": True}, output_mode="update", acknowledge="request"
    )
    (batch,) = stream.collect(timeout=JOB_DEADLINE)
    assert sorted(batch.data) == [(1, 2), (2, 1)]


def test_wrong_arguments_raise(spark: Any) -> None:
    sdf = spark.readStream.format("rate").load()
    with pytest.raises(ValueError, match="sdf is not a streaming DataFrame: use from_dataframe"):
        ps.from_stream(spark.range(1))
    with pytest.raises(TypeError, match="sdf must be a DataFrame, not str"):
        ps.from_stream("rate")
    with pytest.raises(ValueError, match="acknowledge must be one of 'explicit', 'request', not 'never'"):
        ps.from_stream(sdf, acknowledge="never")
    with pytest.raises(ValueError, match="as_ must be one of"):
        ps.from_stream(sdf, as_="lists")
    with pytest.raises(TypeError, match="trigger must be a mapping, not str"):
        ps.from_stream(sdf, trigger="1 second")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="checkpoint must be the path of a folder, not int"):
        ps.from_stream(sdf, checkpoint=5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="trigger must have one key of"):
        ps.from_stream(sdf, trigger={"continuous": "1 second"})
    with pytest.raises(Exception, match="nonsense"):
        ps.from_stream(sdf, output_mode="nonsense")


def slow_stream(spark: Any, numbers: Numbers, folder: Path) -> Any:
    """Return a stream whose batches take a minute, and report their start and end."""
    from pyspark.sql.functions import udf

    place = str(folder)

    def wait(n: int) -> int:
        Path(place, "began").touch()
        time.sleep(60)
        Path(place, "done").touch()
        return n

    numbers.add(1)
    sdf = spark.readStream.schema("n long").json(str(numbers.source)).select(udf(wait, "long", useArrow=False)("n"))
    return ps.from_stream(sdf, checkpoint=numbers.checkpoint)


@pytest.mark.parametrize("how", ["cancel", "stop"])
def test_a_stop_while_a_batch_is_computed_is_not_an_error(
    spark: Any, numbers: Numbers, tmp_path: Path, how: str
) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(1)
    slow_stream(spark, numbers, tmp_path).subscribe(subscriber)
    eventually((tmp_path / "began").exists)
    query = numbers.query()
    if how == "cancel":
        subscriber.cancel()
        eventually(lambda: not spark.streams.active)
    else:
        query.stop()
        subscriber.await_complete(JOB_DEADLINE)
    eventually(lambda: not active_jobs(spark))
    assert query.exception() is None
    assert numbers.committed() == set()
    assert not (tmp_path / "done").exists()


def test_a_failed_query_fails_the_stream_with_the_failed_partition_as_cause(spark: Any, numbers: Numbers) -> None:
    from pyspark.errors import StreamingQueryException

    numbers.add(1)
    sdf = spark.readStream.schema("n long").json(str(numbers.source)).selectExpr("raise_error('broken') as e")
    with pytest.raises(StreamingQueryException, match="broken") as caught:
        ps.from_stream(sdf).collect(timeout=JOB_DEADLINE)
    assert isinstance(caught.value.__cause__, ps.PartitionFailed)


STOPS_ITS_SESSION = """
import sys, time
from pathlib import Path
import pyrs
from pyspark.sql import SparkSession
from pyrs import spark as ps
from pyrs.testing import TestSubscriber

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
checkpoint = Path(sys.argv[1], "checkpoint")
sdf = spark.readStream.schema("n long").json(sys.argv[1] + "/source")
subscriber = TestSubscriber(1)
ps.from_stream(sdf, as_="tuples", checkpoint=checkpoint).subscribe(subscriber)
subscriber.await_count(1, 200)
pyrs.set_error_hook(lambda error, where: print("dropped", error))
idle = TestSubscriber(1)
Path(sys.argv[1], "idle").mkdir()
ps.from_stream(spark.readStream.schema("n long").json(sys.argv[1] + "/idle")).subscribe(idle)
while len(spark.streams.active) < 2:
    time.sleep(0.05)
spark.stop()
print(type(idle.await_error(timeout=200)).__name__)
print(type(subscriber.await_error(timeout=200)).__name__, list(checkpoint.glob("commits/[0-9]*")))
time.sleep(1)  # the query stops in the background, and might report a dropped error
"""


def test_a_jvm_that_ends_before_the_first_request_fails_the_stream(
    numbers: Numbers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise ConnectionError("the JVM has ended")

    monkeypatch.setattr("pyrs.spark.read.queries.inherited", lambda spark, task: fail)
    subscriber: TestSubscriber[Any] = TestSubscriber(1)
    numbers.stream().subscribe(subscriber)
    subscriber.await_error(ConnectionError, JOB_DEADLINE)


@pytest.mark.timeout(600)
def test_a_stopped_session_fails_a_stream_whose_batch_waits_and_an_idle_one(numbers: Numbers, tmp_path: Path) -> None:
    numbers.add(1)
    done = subprocess.run(
        [sys.executable, "-c", STOPS_ITS_SESSION, str(tmp_path)], capture_output=True, text=True, timeout=500
    )
    assert done.stdout.split("\n")[-3:] == ["JvmUnavailable", "JvmUnavailable []", ""], done.stderr
    assert "dropped" not in done.stdout
