"""from_dataframe: the memory of a stream, partitions that are too large, and the threads of many streams."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event, Lock
from typing import Any

import pyarrow
import pytest
from pyspark.sql.types import ArrayType, IntegerType, StructType

from pyrs import spark as ps
from pyrs.spark.read import partitions
from pyrs.spark.schema.arrow import checked_shape, size_of
from pyrs.spark.sessions import Jobs, drain_executor
from pyrs.testing import TestSubscriber
from tests.spark.gates import Gates
from tests.spark.jobs import JOB_DEADLINE, active_jobs
from tests.waiting import DEADLINE, eventually

MEBIBYTE = 1 << 20


def test_fewer_jobs_run_if_partitions_are_large(spark: Any, gates: Gates) -> None:
    """Four jobs start before the size of a partition, 1 MiB, is known. Then two partitions fit in the memory."""
    df = gates.guard(spark.range(0, 8, 1, 8).selectExpr(f"repeat('x', {MEBIBYTE}) as text"))
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    ps.from_dataframe(df, "tuples", memory=5 * MEBIBYTE // 2).subscribe(subscriber)
    eventually(lambda: gates.began() == {0, 1, 2, 3})
    for number in (0, 1):
        gates.open(number)
        subscriber.await_count(number + 1, JOB_DEADLINE)
    eventually(lambda: active_jobs(spark) == 2)
    assert gates.began() == {0, 1, 2, 3}
    gates.open(2)
    eventually(lambda: gates.began() == {0, 1, 2, 3, 4})
    gates.open()
    assert len(subscriber.await_complete(JOB_DEADLINE)) == 8


@pytest.fixture
def most_jobs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list with the highest number of jobs that ran at the same time."""
    lock, running, most = Lock(), [0], [0]
    run = partitions.JvmReader._run_over

    def counted(self: Any, rdd: Any, of_job: range) -> Any:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        try:
            return run(self, rdd, of_job)
        finally:
            with lock:
                running[0] -= 1

    monkeypatch.setattr(partitions.JvmReader, "_run_over", counted)
    return most


@pytest.mark.parametrize("window", [None, 8])
def test_the_first_jobs_fit_in_the_memory_by_the_estimate_of_spark(
    spark: Any, most_jobs: list[int], window: int | None
) -> None:
    df = spark.range(0, 400_000, 1, 8)  # partitions of 400,000 bytes
    stream = ps.from_dataframe(df, "arrow", window, memory=700_000)
    assert sum(batch.num_rows for batch in stream.collect(timeout=JOB_DEADLINE)) == 400_000
    assert most_jobs == [1]


def test_a_partition_larger_than_the_memory_is_read_in_pieces(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0
    frames = partitions._frames

    def counted(connection: Any) -> Iterator[bytes]:
        nonlocal read
        for frame in frames(connection):
            read += 1
            yield frame

    monkeypatch.setattr(partitions, "_frames", counted)
    df = spark.range(0, 300_000, 1, 1)  # 30 batches of 80,000 bytes
    subscriber: TestSubscriber[Any] = TestSubscriber(0)
    ps.from_dataframe(df, "arrow", memory=200_000).subscribe(subscriber)
    for n in range(1, 31):
        subscriber.request(1)
        subscriber.await_count(n, JOB_DEADLINE)
        assert read <= n + 4
    assert sum(batch.num_rows for batch in subscriber.await_complete(JOB_DEADLINE)) == 300_000


def test_a_cancel_ends_a_read_that_waits_for_the_subscriber(spark: Any) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(1)
    ps.from_dataframe(spark.range(0, 300_000, 1, 1), "arrow", memory=1).subscribe(subscriber)
    subscriber.await_count(1, JOB_DEADLINE)
    subscriber.cancel()
    eventually(lambda: active_jobs(spark) == 0)


def test_small_memory_changes_no_result(spark: Any) -> None:
    df = spark.range(0, 20_000, 1, 9)
    for ordered in (True, False):
        rows = ps.from_dataframe(df, "tuples", ordered=ordered, memory=1).collect(timeout=JOB_DEADLINE)
        assert sorted(rows) == [(n,) for n in range(20_000)]


def test_the_error_of_a_partition_that_spark_refuses_advises_smaller_partitions(spark: Any) -> None:
    conf = spark.sparkContext._jsc.sc().conf()
    conf.set("spark.driver.maxResultSize", "1m")
    try:
        df = spark.range(0, 3, 1, 3).selectExpr(f"if(id = 2, repeat('x', 2 * {MEBIBYTE}), '') as text")
        subscriber: TestSubscriber[Any] = TestSubscriber(None)
        ps.from_dataframe(df, "tuples").subscribe(subscriber)
        error = subscriber.await_error(ps.PartitionFailed, JOB_DEADLINE)
    finally:
        conf.remove("spark.driver.maxResultSize")
    assert error.partition == 2 and len(subscriber.elements) == 2
    assert "is bigger than spark.driver.maxResultSize" in str(error)
    assert "Make partitions smaller with df.repartition(n)" in str(error)


def test_blocked_subscribers_delay_no_other_stream(spark: Any) -> None:
    """300 Subscribers and 300 functions of ``for_each_frame`` block."""
    gate, lock, blocked = Event(), Lock(), [0]

    def block() -> None:
        with lock:
            blocked[0] += 1
        gate.wait(4 * DEADLINE)

    try:
        for _ in range(300):
            drain_executor()(block)
            Jobs(spark).submit(block)
        eventually(lambda: blocked[0] == 600)
        assert ps.from_dataframe(spark.range(0, 8, 1, 8), "tuples").collect(timeout=JOB_DEADLINE) == [
            (n,) for n in range(8)
        ]
        subscriber: TestSubscriber[Any] = TestSubscriber(None)
        ps.from_dataframe(spark.range(1)).subscribe(subscriber)
        subscriber.await_complete(DEADLINE)
    finally:
        gate.set()


def test_the_size_of_an_empty_list_column_without_offsets_is_computed() -> None:
    """Spark 4.0 sends such columns. Reading their ``nbytes`` crashes the process."""
    none = pyarrow.py_buffer(b"")
    column = pyarrow.Array.from_buffers(pyarrow.list_(pyarrow.int64()), 0, [None, none], children=[pyarrow.array([1])])
    assert size_of(pyarrow.RecordBatch.from_arrays([column], ["a"])) == 8


def test_nested_lists_without_offsets_become_pandas() -> None:
    """Spark 3.5 and 4.0 send a null list of lists in this form. Its conversion would crash the process."""
    pytest.importorskip("pandas")
    lists = pyarrow.array([], pyarrow.int32())
    for _ in range(2):
        lists = pyarrow.Array.from_buffers(pyarrow.list_(lists.type), 0, [None, None], children=[lists])
    start = pyarrow.array([0, 0], pyarrow.int32()).buffers()[1]
    null = pyarrow.Array.from_buffers(pyarrow.list_(lists.type), 1, [pyarrow.py_buffer(b"\0"), start], children=[lists])
    column = pyarrow.StructArray.from_arrays([null], ["b"])
    schema = StructType().add("a", StructType().add("b", ArrayType(ArrayType(ArrayType(IntegerType())))))
    frames, _ = checked_shape("pandas", schema, "UTC").of_batch(pyarrow.RecordBatch.from_arrays([column], ["a"]))
    (frame,) = frames
    assert frame["a"].tolist() == [{"b": None}]


@pytest.mark.parametrize(
    ("memory", "kind", "message"),
    [
        (0, ValueError, "memory must be at least 1, not 0"),
        ("1g", TypeError, "memory must be an integer, not str"),
    ],
)
def test_wrong_memory_raises(spark: Any, memory: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        ps.from_dataframe(spark.range(1), memory=memory)


def test_repr_shows_the_memory(spark: Any) -> None:
    assert "as_='rows', memory=1000)" in repr(ps.from_dataframe(spark.range(1), memory=1000))
