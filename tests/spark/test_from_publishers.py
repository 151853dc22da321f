"""from_publishers: a DataFrame of Publishers that run on the executors, with their demand, cancellation and errors."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from threading import RLock
from typing import Any

import pyarrow
import pytest
from pyspark import cloudpickle
from pyspark.sql.types import LongType, StructType

import pyrs
from pyrs import spark as ps
from pyrs.spark.executors.tasks import Output, PublisherTask, RangeTask
from pyrs.spark.schema.rows import RowEncoder
from tests.waiting import eventually

pytest.importorskip("pandas")  # mapInArrow needs it


def test_each_value_has_a_publisher_in_a_partition_of_its_own(spark: Any) -> None:
    from pyspark.sql.functions import spark_partition_id

    def numbers(first: int) -> Any:
        return pyrs.range(first, first + 3).map(lambda n: (n, f"number {n}"))

    df = ps.from_publishers(spark, [0, 10, 20], numbers, "n long, text string")
    assert df.schema.simpleString() == "struct<n:bigint,text:string>"
    rows = df.withColumn("partition", spark_partition_id()).collect()
    assert [(row.partition, row.n) for row in rows] == [(p, 10 * p + n) for p in range(3) for n in range(3)]
    assert rows[0].text == "number 0"
    assert [row.n for row in df.coalesce(1).collect()] == [0, 1, 2, 10, 11, 12, 20, 21, 22]


def test_elements_may_be_rows_mappings_and_batches(spark: Any) -> None:
    def elements(kind: str) -> Any:
        batch = pyarrow.RecordBatch.from_pydict({"n": [1, 2]})
        return {"tuple": pyrs.just((1,), (2,)), "dict": pyrs.just({"n": 1}, {"n": 2}), "batch": pyrs.just(batch)}[kind]

    df = ps.from_publishers(spark, ["tuple", "dict", "batch"], elements, "n long")
    assert [row.n for row in df.collect()] == [1, 2] * 3


def test_metrics_count_a_publisher_on_another_thread(spark: Any) -> None:
    metrics = pyrs.Metrics("rows")

    def numbers(count: int) -> Any:
        return pyrs.range(count).subscribe_on(pyrs.schedulers.default()).metrics(metrics).map(lambda n: (n,))

    assert ps.from_publishers(spark, [100, 200], numbers, "n long", prefetch=7).count() == 300
    assert (metrics.elements, metrics.completed) == (300, 2)


def test_no_partitions_and_empty_publishers_give_no_rows(spark: Any) -> None:
    assert ps.from_publishers(spark, [], lambda value: pyrs.never(), "n long").collect() == []
    assert ps.from_publishers(spark, iter([1, 2]), lambda value: pyrs.empty(), "n long").collect() == []


def test_a_limit_cancels_a_publisher_that_emits_nothing_more(spark: Any, tmp_path: Path) -> None:
    place = str(tmp_path)

    def numbers(value: int) -> Any:
        live = pyrs.concat(pyrs.range(5), pyrs.interval(0.05).map(lambda n: n + 5).take(10), pyrs.never())
        return live.map(lambda n: (n,)).do_on_cancel(lambda: Path(place, "cancelled").touch())

    df = ps.from_publishers(spark, [1], numbers, "n long")
    assert [row.n for row in df.limit(3).collect()] == [0, 1, 2]
    eventually((tmp_path / "cancelled").exists)


def test_an_error_names_the_partition_and_the_reason(spark: Any) -> None:
    def failing(value: int) -> Any:
        if value == 7:
            return pyrs.concat(pyrs.just((1,)), pyrs.error(ArithmeticError("seven")))
        return pyrs.just((value,))

    with pytest.raises(Exception, match="PartitionFailed: partition 1: ArithmeticError: seven"):
        ps.from_publishers(spark, [6, 7], failing, "n long").collect()
    df = ps.from_publishers(spark, [6, 7], failing, "n long")
    with pytest.raises(ps.PartitionFailed, match="partition 1: ArithmeticError: seven"):
        ps.from_dataframe(df).collect(timeout=100)


# These tests run the task of an executor in this process.


def published(factory: Any, prefetch: int = 4, rows: int = 10) -> Iterator[Any]:
    encoder = RowEncoder(StructType().add("n", LongType()))
    numbers = pyarrow.RecordBatch.from_pydict({"id": [1]})
    values = tuple(map(cloudpickle.dumps, ("zero", "one")))
    source = RangeTask(factory, Output(encoder, "UTC", rows), prefetch)
    return PublisherTask(source, values).run(9, iter([numbers]))


def test_at_most_the_prefetched_elements_and_a_batch_are_requested() -> None:
    requested = 0

    def source(value: str) -> Any:
        assert value == "one"

        def add(n: int) -> None:
            nonlocal requested
            requested += n

        return pyrs.range(1000).subscribe_on(pyrs.schedulers.inline()).do_on_request(add).map(lambda n: (n,))

    emitted = published(source)
    assert next(emitted).num_rows == 10
    assert requested <= 10 + 4
    emitted.close()  # type: ignore[attr-defined]


def test_rows_of_a_silent_publisher_are_sent() -> None:
    emitted = published(lambda value: pyrs.concat(pyrs.just((1,), (2,)), pyrs.never()))
    assert next(emitted).to_pydict() == {"n": [1, 2]}
    emitted.close()  # type: ignore[attr-defined]


def test_the_end_of_the_task_cancels_the_publisher() -> None:
    cancels: list[int] = []
    emitted = published(
        lambda value: (
            pyrs.range(1000)
            .subscribe_on(pyrs.schedulers.inline())
            .do_on_cancel(lambda: cancels.append(1))
            .map(lambda n: (n,))
        )
    )
    next(emitted)
    emitted.close()  # type: ignore[attr-defined]
    assert cancels == [1]


def test_the_thread_that_watches_a_task_ends_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, theirs.makefile("wb") as output:
        monkeypatch.setattr("pyrs.spark.executors.tasks._output_of_worker", lambda: output)

        def numbers(value: str) -> Any:
            return pyrs.range(3).subscribe_on(pyrs.schedulers.inline()).map(lambda n: (n,))

        emitted = published(numbers)
        assert next(emitted).num_rows == 3
        (watching,) = (thread for thread in threading.enumerate() if thread.name == "pyrs-spark-task")
        assert list(emitted) == []
        watching.join(60)
        assert not watching.is_alive()


def test_a_publisher_is_cancelled_when_spark_closes_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, theirs.makefile("wb") as output:
        monkeypatch.setattr("pyrs.spark.executors.tasks._output_of_worker", lambda: output)
        cancels: list[int] = []

        def numbers(value: str) -> Any:
            live = pyrs.concat(pyrs.range(10), pyrs.never()).map(lambda n: (n,))
            return live.do_on_cancel(lambda: cancels.append(1))

        emitted = published(numbers)
        assert next(emitted).num_rows == 10
        ours.close()
        assert list(emitted) == []
        eventually(lambda: cancels == [1])


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (lambda value: 1 // 0, "partition 1: ZeroDivisionError"),
        (lambda value: [1], "partition 1: TypeError: the result of factory must be a Publisher"),
        (lambda value: pyrs.just(("1",)), "partition 1: SchemaMisfit: element 0, .*field 'n'"),
        (lambda value: pyrs.error(OSError("gone")), "partition 1: OSError: gone"),
    ],
)
def test_a_failing_factory_or_publisher_fails_its_partition(factory: Any, message: str) -> None:
    with pytest.raises(ps.PartitionFailed, match=message):
        list(published(factory))


def test_wrong_arguments_raise(spark: Any) -> None:
    def make(value: Any) -> Any:
        return pyrs.empty()

    with pytest.raises(TypeError, match="spark must be a SparkSession, not int"):
        ps.from_publishers(3, [1], make, "n long")
    for partitions, kind in ((3, "int"), ("abc", "str")):
        with pytest.raises(TypeError, match=f"partitions must be an iterable .*, not {kind}"):
            ps.from_publishers(spark, partitions, make, "n long")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"the value 1 of partitions cannot be sent to the executors: .*RLock"):
        ps.from_publishers(spark, [1, RLock()], make, "n long")
    with pytest.raises(TypeError, match="factory must be callable"):
        ps.from_publishers(spark, [1], 3, "n long")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="prefetch must be at least 1, not 0"):
        ps.from_publishers(spark, [1], make, "n long", prefetch=0)
    with pytest.raises(ValueError, match="schema must have a column"):
        ps.from_publishers(spark, [1], make, StructType())
