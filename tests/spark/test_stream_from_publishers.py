"""stream_from_publishers in a session: micro-batches, repeated ranges, errors and refused arguments."""

from __future__ import annotations

import json
from pathlib import Path
from threading import RLock
from typing import Any

import pytest

pytest.importorskip("pyspark.sql.datasource", reason="PySpark 3.5 has no Python Data Sources")
pytest.importorskip("pandas")

from pyspark import cloudpickle
from pyspark.sql.types import LongType, StructType

import pyrs
from pyrs import spark as ps
from pyrs.spark.executors.tasks import Output, RangeTask
from pyrs.spark.schema.rows import RowEncoder
from tests.spark.jobs import JOB_DEADLINE
from tests.spark.killable import start, stored
from tests.spark.versions import has_pyspark
from tests.waiting import eventually


def numbers_of(partition: str, start: int, end: int) -> Any:
    return pyrs.range(start, end).map(lambda n: (n,))


def batches_in(folder: Path) -> list[list[int]]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def test_available_now_reads_all_ranges_in_limited_batches(spark: Any, tmp_path: Path) -> None:
    metrics = pyrs.Metrics("rows")
    ends = {"a": 5, "b": 3}

    def numbers(partition: str, start: int, end: int) -> Any:
        first = 100 if partition == "b" else 0
        return pyrs.range(first + start, first + end).metrics(metrics).map(lambda n: (n,))

    df = ps.stream_from_publishers(spark, ["a", "b"], numbers, "n long", ends.__getitem__, limit=2)
    assert df.isStreaming and df.schema.simpleString() == "struct<n:bigint>"
    start(df, tmp_path).awaitTermination()
    if has_pyspark(4, 2):
        assert batches_in(tmp_path) == [[0, 1, 100, 101], [2, 3, 102], [4]]
        assert (metrics.elements, metrics.completed) == (8, 5)
    else:
        assert batches_in(tmp_path) == [[0, 1, 2, 3, 4, 100, 101, 102]]
        assert (metrics.elements, metrics.completed) == (8, 2)


def test_an_interval_trigger_reads_added_elements_in_limited_batches(spark: Any, tmp_path: Path) -> None:
    end, rows = tmp_path / "end", tmp_path / "rows"
    end.write_text("3")

    def latest(partition: str) -> int:
        return int(end.read_text())

    df = ps.stream_from_publishers(spark, ["a"], numbers_of, "n long", latest, limit=2)
    query = start(df, rows, processingTime="0 seconds")
    eventually(lambda: len(stored(rows)) == 3 or query.exception(), seconds=JOB_DEADLINE)
    (tmp_path / "next").write_text("6")
    (tmp_path / "next").replace(end)
    eventually(lambda: len(stored(rows)) == 6 or query.exception(), seconds=JOB_DEADLINE)
    query.stop()
    assert query.exception() is None
    # Before Spark 4.2 the first micro-batch has no limit.
    assert batches_in(rows) == ([[0, 1], [2]] if has_pyspark(4, 2) else [[0, 1, 2]]) + [[3, 4], [5]]


def test_a_failed_range_is_read_again_by_the_next_query(spark: Any, tmp_path: Path) -> None:
    """The start and end of the range come from the checkpoint, although the new functions return other values.

    An invalid offset is not written to the checkpoint.
    """

    def failing(partition: str, start: int, end: int) -> Any:
        return pyrs.concat(numbers_of(partition, start, end), pyrs.error(OSError("gone")))

    df = ps.stream_from_publishers(spark, ["a"], failing, "n long", lambda partition: 7, lambda partition: 3)
    with pytest.raises(Exception, match="PartitionFailed: partition 0: 'a' from 3 to 7: OSError: gone"):
        start(df, tmp_path).awaitTermination()
    assert stored(tmp_path) == []
    df = ps.stream_from_publishers(spark, ["a"], numbers_of, "n long", lambda partition: None)
    if not has_pyspark(4, 2):
        start(df, tmp_path).awaitTermination()  # the repeated micro-batch is the only one of this query
    with pytest.raises(Exception, match="TypeError: the result of latest for partition 'a' is None"):
        start(df, tmp_path).awaitTermination()
    assert stored(tmp_path) == [3, 4, 5, 6]
    df = ps.stream_from_publishers(spark, ["a"], numbers_of, "n long", lambda partition: 9)
    start(df, tmp_path).awaitTermination()
    assert stored(tmp_path) == list(range(3, 9))


def test_large_arrow_types_do_not_change_the_values(spark: Any, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        df = ps.stream_from_publishers(spark, ["a"], lambda *part: pyrs.just(("text", 7)), "s string, n long", len)
        start(df, tmp_path).awaitTermination()
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")
    assert stored(tmp_path) == [7]


def test_an_error_of_the_factory_names_the_range() -> None:
    def run(factory: Any) -> list[Any]:
        work = RangeTask(factory, Output(RowEncoder(StructType().add("n", LongType())), "UTC", 10), 4)
        loaded = cloudpickle.loads(cloudpickle.dumps(work))
        return [row["n"] for batch in loaded.run(2, ("a", 1, 3)) for row in batch.to_pylist()]

    assert run(numbers_of) == [1, 2]
    with pytest.raises(ps.PartitionFailed, match="partition 2: 'a' from 1 to 3: TypeError: the result of factory must"):
        run(lambda partition, start, end: [1])
    with pytest.raises(ps.PartitionFailed, match="partition 2: 'a' from 1 to 3: SchemaMisfit: element 0, "):
        run(lambda partition, start, end: pyrs.just(("1",)))


def test_wrong_arguments_raise(spark: Any) -> None:
    def stream(partitions: Any = ("a",), factory: Any = numbers_of, latest: Any = len, **options: Any) -> Any:
        return ps.stream_from_publishers(spark, partitions, factory, "n long", latest, **options)

    with pytest.raises(TypeError, match="spark must be a SparkSession, not int"):
        ps.stream_from_publishers(3, ["a"], numbers_of, "n long", len)
    with pytest.raises(TypeError, match=r"partitions must be an iterable .*, not str"):
        stream("abc")
    with pytest.raises(ValueError, match="partitions must be distinct, but 'a' occurs twice"):
        stream(["a", "a"])
    with pytest.raises(TypeError, match="factory must be callable"):
        stream(factory=3)
    with pytest.raises(TypeError, match="latest must be callable"):
        stream(latest=3)
    with pytest.raises(TypeError, match=r"start must be a JSON value, not .* of type object"):
        stream(start=object())
    with pytest.raises(TypeError, match="limit must be a number, a function or None, not str"):
        stream(limit="5")
    with pytest.raises(ValueError, match="limit must be greater than 0, not 0"):
        stream(limit=0)
    with pytest.raises(ValueError, match="prefetch must be at least 1, not 0"):
        stream(prefetch=0)
    lock = RLock()
    with pytest.raises(TypeError, match=r"latest cannot be sent to Spark's planner: it captures 'lock', a RLock"):
        stream(latest=lambda partition: lock)
    with pytest.raises(TypeError, match=r"factory cannot be sent to the executors: it captures 'lock', a RLock"):
        stream(factory=lambda partition, start, end: lock)
