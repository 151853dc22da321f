"""from_dataframe: values, jobs and termination. Tests run with both readers if their results may differ."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import io
import os
import pickle
import threading
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import pyrs
from pyrs import spark as ps
from pyrs._core import hooks
from pyrs.errors import JvmUnavailable
from pyrs.spark.read import dataframes, partitions
from pyrs.testing import TestSubscriber
from tests.spark.gates import Gates
from tests.spark.jobs import JOB_DEADLINE, active_jobs, local_property
from tests.waiting import eventually


@pytest.fixture(params=["jvm", "public"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "public":
        pytest.importorskip("pandas")  # mapInArrow needs it
        monkeypatch.setattr(partitions, "has_fast_path", lambda df: False)
    return str(request.param)


def test_this_driver_has_the_fast_reader(spark: Any) -> None:
    assert partitions.has_fast_path(spark.range(1))


def test_a_driver_without_the_methods_of_the_fast_reader_uses_the_public_one(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "_RUN_JOB", ("java.lang.String",))
    partitions._probed.clear()
    try:
        df = spark.range(1)
        assert isinstance(partitions.reader_for(df, None), partitions.PublicReader)
    finally:
        partitions._probed.clear()


def test_rows_are_in_order(spark: Any, reader: str) -> None:
    df = spark.range(0, 1000, 1, 7).selectExpr("id", "cast(id as string) as name")
    assert ps.from_dataframe(df).collect(timeout=JOB_DEADLINE) == df.collect()


def test_rows_without_columns_are_counted(spark: Any, reader: str) -> None:
    df = spark.range(0, 5, 1, 2).select()
    assert ps.from_dataframe(df, "tuples").collect(timeout=JOB_DEADLINE) == [()] * 5
    batches = ps.from_dataframe(df, "arrow").collect(timeout=JOB_DEADLINE)
    assert sorted((batch.num_rows, batch.num_columns) for batch in batches) == [(2, 0), (3, 0)]


def test_a_row_equals_the_row_of_spark(spark: Any) -> None:
    df = spark.createDataFrame([(1, "one")], "number int, name string")
    (row,) = ps.from_dataframe(df).collect(timeout=JOB_DEADLINE)
    assert row == df.first() and row.name == "one" and row["number"] == 1
    assert row.asDict() == {"number": 1, "name": "one"}
    assert repr(row) == "Row(number=1, name='one')"
    assert pickle.loads(pickle.dumps(row)) == row
    assert spark.createDataFrame([row]).collect() == [row]


def test_rows_arrive_as_tuples_dicts_and_batches(spark: Any, reader: str) -> None:
    df = spark.range(0, 6, 1, 2).selectExpr("id", "id * 2 as twice")
    assert ps.from_dataframe(df, as_="tuples").collect(timeout=JOB_DEADLINE) == [(n, 2 * n) for n in range(6)]
    assert ps.from_dataframe(df, as_="dicts").collect(timeout=JOB_DEADLINE) == [
        {"id": n, "twice": 2 * n} for n in range(6)
    ]
    batches = ps.from_dataframe(df, as_="arrow").collect(timeout=JOB_DEADLINE)
    assert [batch.num_rows for batch in batches] == [3, 3]
    assert batches[0].schema.names == ["id", "twice"]


def test_pandas_frames_have_naive_times_in_the_session_zone(spark: Any) -> None:
    pandas = pytest.importorskip("pandas")
    df = spark.sql("select id, timestamp'2024-05-06 07:08:09' as at from range(0, 4, 1, 1)")
    (frame,) = ps.from_dataframe(df, as_="pandas").collect(timeout=JOB_DEADLINE)
    assert list(frame["id"]) == [0, 1, 2, 3]
    assert frame["at"][0] == pandas.Timestamp(2024, 5, 6, 7, 8, 9)


EVERY_TYPE = """
    select true as flag, cast(1 as byte) as b, cast(2 as short) as s, 3 as i, 4L as l, cast(1.5 as float) as f,
      2.5d as d, 1.25bd as decimal, 'text' as text, X'0102' as bytes, date'2024-02-03' as day,
      timestamp'2024-02-03 04:05:06.000007' as moment, timestamp_ntz'2024-02-03 04:05:06' as wall,
      interval '1 02:03:04' day to second as span, null as nothing,
      array(1, null, 3) as numbers, array(timestamp'2024-02-03 04:05:06', null) as moments,
      map('a', 1, 'b', null) as counts, map('t', timestamp'2024-02-03 04:05:06') as when,
      named_struct('x', 1, 'at', timestamp'2024-02-03 04:05:06', 'deep', named_struct('y', array(named_struct('z', 1))))
        as place,
      cast(null as struct<x:int>) as nowhere, cast(null as map<string,timestamp>) as never,
      array(map('k', 1), null) as maps
"""


def test_values_equal_those_of_collect(spark: Any, reader: str) -> None:
    df = spark.sql(EVERY_TYPE)
    df = df.union(df.limit(0)).union(spark.sql("select " + ", ".join(f"null as {name}" for name in df.columns)))
    ours, theirs = ps.from_dataframe(df).collect(timeout=JOB_DEADLINE), df.collect()
    for mine, its in zip(ours, theirs, strict=True):
        for name in df.columns:
            expected = bytes(its[name]) if isinstance(its[name], bytearray) else its[name]
            assert mine[name] == expected and type(mine[name]).__name__ == type(expected).__name__, name
    assert ours[0].place.deep.y[0].z == 1
    assert ours[0].decimal == decimal.Decimal("1.25") and ours[0].span == datetime.timedelta(1, 7384)


@pytest.mark.parametrize("value", ["date'+12000-01-01'", "timestamp_ntz'+12000-01-01 00:00:00'", "map(array(1), 2)"])
def test_a_value_without_a_python_form_is_named(spark: Any, value: str) -> None:
    df = spark.sql(f"select id, {value} as far from range(1)")
    with pytest.raises(ValueError, match=r"^column 'far' of type .*without a Python form \(.*\): cast it, or read"):
        ps.from_dataframe(df).collect(timeout=JOB_DEADLINE)
    (batch,) = ps.from_dataframe(df, as_="arrow").collect(timeout=JOB_DEADLINE)
    assert batch.num_rows == 1


def test_an_error_of_the_plan_is_that_of_collect(spark: Any) -> None:
    df = spark.sql("select decode(X'EDA080', 'UTF-8') as text from range(1)")
    try:
        pytest.skip(f"this Spark decodes the text: {df.collect()}")
    except Exception as error:
        expected = error
    with pytest.raises(type(expected)) as caught:
        ps.from_dataframe(df).collect(timeout=JOB_DEADLINE)
    assert str(caught.value).splitlines()[0] == str(expected).splitlines()[0]


def test_structs_in_map_keys_of_dicts_are_rows(spark: Any) -> None:
    from pyspark.sql import Row

    df = spark.sql("select map(struct(1 as x), struct(2 as y)) as m")
    assert ps.from_dataframe(df, as_="dicts").collect(timeout=JOB_DEADLINE) == [{"m": {Row(x=1): {"y": 2}}}]


def test_structs_in_dicts_are_dicts(spark: Any) -> None:
    df = spark.sql("select named_struct('x', array(named_struct('y', 1))) as s")
    assert ps.from_dataframe(df, as_="dicts").collect(timeout=JOB_DEADLINE) == [{"s": {"x": [{"y": 1}]}}]


def test_spatial_values_equal_those_of_collect(spark: Any) -> None:
    point = "X'0101000000000000000000F03F0000000000000040'"
    try:
        df = spark.sql(f"select st_geomfromwkb({point}) as g, array(st_geogfromwkb({point}), null) as a")
        expected = df.collect()
    except Exception as error:
        pytest.skip(f"this Spark has no spatial types: {error}")
    (row,) = ps.from_dataframe(df).collect(timeout=JOB_DEADLINE)
    assert type(row.g) is type(expected[0].g) and row == expected[0]


def test_columns_with_the_same_name_are_allowed_except_in_dicts(spark: Any) -> None:
    df = spark.sql("select 1 as a, 2 as a")
    assert ps.from_dataframe(df, as_="tuples").collect(timeout=JOB_DEADLINE) == [(1, 2)]
    with pytest.raises(ValueError, match="more than one column 'a'"):
        ps.from_dataframe(df, as_="dicts")


def test_columns_whose_names_are_expressions_have_their_values(spark: Any, reader: str) -> None:
    df = spark.sql("select named_struct('b', -1) as a, 2 as `a.b`, 3 as `*`, 4 as ```` from range(2)")
    assert ps.from_dataframe(df).collect(timeout=JOB_DEADLINE) == df.collect()
    (batch, *_) = ps.from_dataframe(df, "arrow").collect(timeout=JOB_DEADLINE)
    assert batch.schema.names == ["a", "a.b", "*", "`"] and batch.column(1)[0].as_py() == 2


def test_empty_dataframes_complete(spark: Any, reader: str) -> None:
    assert ps.from_dataframe(spark.range(0)).collect(timeout=JOB_DEADLINE) == []
    assert ps.from_dataframe(spark.range(5).where("id > 9").repartition(3)).collect(timeout=JOB_DEADLINE) == []
    assert ps.from_dataframe(spark.createDataFrame([], "a int"), as_="arrow").collect(timeout=JOB_DEADLINE) == []


def test_large_arrow_types_are_decoded(spark: Any) -> None:
    key = "spark.sql.execution.arrow.useLargeVarTypes"
    spark.conf.set(key, "true")
    try:
        assert ps.from_dataframe(spark.sql("select 'long' as s")).collect(timeout=JOB_DEADLINE)[0].s == "long"
    finally:
        spark.conf.unset(key)


def test_nothing_runs_before_the_first_request(spark: Any, gates: Gates) -> None:
    df = gates.guard(spark.range(0, 8, 1, 8))
    stream = ps.from_dataframe(df)
    subscriber: TestSubscriber[Any] = TestSubscriber()
    stream.subscribe(subscriber)
    assert gates.began() == set() and active_jobs(spark) == 0
    subscriber.request(1)
    eventually(lambda: gates.began() == {0})
    subscriber.request(1)
    eventually(lambda: gates.began() == {0, 1})
    subscriber.cancel()


def test_the_window_is_never_exceeded(spark: Any, gates: Gates) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    ps.from_dataframe(gates.guard(spark.range(0, 12, 1, 12)), window=3).subscribe(subscriber)
    eventually(lambda: gates.began() == {0, 1, 2})
    assert active_jobs(spark) == 3
    gates.open(1)  # computed, but buffered until partition 0 is emitted, so no other job starts
    eventually(lambda: active_jobs(spark) == 2)
    assert gates.began() == {0, 1, 2}
    gates.open(0)
    eventually(lambda: gates.began() == {0, 1, 2, 3, 4})
    assert active_jobs(spark) == 3
    gates.open()
    assert [row.id for row in subscriber.await_complete(JOB_DEADLINE)] == list(range(12))


def test_unordered_emits_each_partition_when_it_is_computed(spark: Any, gates: Gates) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    ps.from_dataframe(gates.guard(spark.range(0, 4, 1, 4)), window=2, ordered=False).subscribe(subscriber)
    for number in (1, 2, 3):
        gates.open(number)
    assert [row.id for row in subscriber.await_count(3, JOB_DEADLINE)] == [1, 2, 3]
    gates.open(0)
    assert len(subscriber.await_complete(JOB_DEADLINE)) == 4


def test_a_paused_subscriber_starts_no_job(spark: Any, gates: Gates) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber()
    ps.from_dataframe(gates.guard(spark.range(0, 100, 1, 10)), window=2).subscribe(subscriber)
    gates.open()
    subscriber.request(15)
    subscriber.await_count(15, JOB_DEADLINE)
    eventually(lambda: active_jobs(spark) == 0)
    assert gates.began() <= {0, 1, 2}
    subscriber.request(85)
    assert len(subscriber.await_complete(JOB_DEADLINE)) == 100


def test_each_request_is_met_exactly(spark: Any, reader: str) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber()
    ps.from_dataframe(spark.range(0, 10, 1, 4)).subscribe(subscriber)
    for count in range(1, 11):
        subscriber.request(1)
        assert [row.id for row in subscriber.await_count(count, JOB_DEADLINE)] == list(range(count))
    subscriber.await_complete(JOB_DEADLINE)


def test_each_subscriber_runs_its_own_jobs(spark: Any) -> None:
    calls = spark.sparkContext.accumulator(0)

    def counted(batches: Any) -> Any:
        calls.add(1)
        yield from batches

    df = spark.range(0, 4, 1, 2)
    stream = ps.from_dataframe(df.rdd.mapPartitions(counted).toDF(df.schema))
    assert stream.collect(timeout=JOB_DEADLINE) == stream.collect(timeout=JOB_DEADLINE)
    assert calls.value == 4


def test_cancel_ends_running_jobs(spark: Any, gates: Gates, reader: str) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    ps.from_dataframe(gates.guard(spark.range(0, 8, 1, 8)), window=3).subscribe(subscriber)
    eventually(lambda: gates.began() == {0, 1, 2})
    subscriber.cancel()
    eventually(lambda: active_jobs(spark) == 0)  # no gate is open
    subscriber.assert_live()  # no signal after the cancel
    assert gates.began() == {0, 1, 2}


def test_cancel_ends_the_jobs_within_a_second(spark: Any, tmp_path: Path) -> None:
    def seconds(round_number: int) -> float:
        folder = tmp_path / str(round_number)
        folder.mkdir()
        gates = Gates(folder)
        subscriber: TestSubscriber[Any] = TestSubscriber(None)
        ps.from_dataframe(gates.guard(spark.range(0, 8, 1, 8)), window=3).subscribe(subscriber)
        eventually(lambda: gates.began() == {0, 1, 2}, seconds=JOB_DEADLINE)
        started = time.monotonic()
        subscriber.cancel()
        eventually(lambda: active_jobs(spark) == 0)
        return time.monotonic() - started

    assert any(seconds(number) < 1 for number in range(8)), "none of eight cancels ended the jobs within a second"


def test_cancel_ends_the_jobs_while_on_next_blocks(spark: Any, gates: Gates) -> None:
    entered, left = threading.Event(), threading.Event()

    def block(row: Any) -> None:
        entered.set()
        left.wait(JOB_DEADLINE)

    gates.open(0)
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    ps.from_dataframe(gates.guard(spark.range(0, 4, 1, 4)), window=2).do_on_next(block).subscribe(subscriber)
    assert entered.wait(JOB_DEADLINE)
    eventually(lambda: gates.began() == {0, 1})
    subscriber.cancel()
    try:
        eventually(lambda: active_jobs(spark) == 0)
    finally:
        left.set()


def test_cancel_does_not_cancel_the_jobs_of_other_subscribers(spark: Any, gates: Gates) -> None:
    first: TestSubscriber[Any] = TestSubscriber(None)
    second: TestSubscriber[Any] = TestSubscriber(None)
    stream = ps.from_dataframe(gates.guard(spark.range(0, 2, 1, 2)), window=2)
    stream.subscribe(first), stream.subscribe(second)
    eventually(lambda: active_jobs(spark) == 4)
    first.cancel()
    eventually(lambda: active_jobs(spark) == 2)
    gates.open()
    assert len(second.await_complete(JOB_DEADLINE)) == 2


def test_cancel_does_not_interrupt_task_threads(spark: Any) -> None:
    """An interrupt while Spark starts a Python worker ends the workers of all other jobs, too."""
    df = local_property(spark.range(0, 2, 1, 1), "spark.job.interruptOnCancel")
    shuffled = df.groupBy("value").count().select("value")  # computed while the query is planned
    assert ps.from_dataframe(df, as_="tuples").collect(timeout=JOB_DEADLINE) == [("false",)] * 2
    assert ps.from_dataframe(shuffled, as_="tuples").collect(timeout=JOB_DEADLINE) == [("false",)]


def test_cancel_during_planning_leaves_the_dataframe_usable(
    spark: Any, gates: Gates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Adaptive execution runs the stages below a shuffle during planning, and caches their failure.

    The error of the cancelled job is not reported as dropped.
    """
    dropped: list[BaseException] = []
    monkeypatch.setattr(hooks, "on_error_dropped", lambda error, where: dropped.append(error))
    df = gates.guard(spark.range(0, 4, 1, 2)).groupBy("id").count()
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    ps.from_dataframe(df).subscribe(subscriber)
    eventually(lambda: gates.began())
    subscriber.cancel()
    eventually(lambda: active_jobs(spark) == 0)
    gates.open()
    assert len(ps.from_dataframe(df).collect(timeout=JOB_DEADLINE)) == 4
    assert dropped == []


def test_leaving_an_iteration_cancels_the_jobs(spark: Any, gates: Gates) -> None:
    gates.open(0)

    async def first() -> Any:
        async with ps.from_dataframe(gates.guard(spark.range(0, 8, 1, 8))).iterate(prefetch=8) as rows:
            async for row in rows:
                return row

    assert asyncio.run(first()).id == 0
    eventually(lambda: active_jobs(spark) == 0)
    assert len(gates.began()) < 8


def test_failed_task_fails_the_stream_with_the_number_of_its_partition(spark: Any, reader: str) -> None:
    def failing(rows: Any) -> Any:
        for row in rows:
            if row.id == 25:
                raise ArithmeticError("twenty-five")
            yield row

    df = spark.range(0, 40, 1, 4)
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    ps.from_dataframe(df.rdd.mapPartitions(failing).toDF(df.schema)).subscribe(subscriber)
    error = subscriber.await_error(ps.PartitionFailed, JOB_DEADLINE)
    assert isinstance(error, ps.PartitionFailed) and error.partition == 2
    assert str(error) == "partition 2: ArithmeticError: twenty-five"
    assert error.__cause__ is not None
    assert [row.id for row in subscriber.elements] == list(range(20))


def test_a_missing_file_fails_the_partition_with_the_error_of_spark(spark: Any, tmp_path: Path) -> None:
    spark.range(3).write.parquet(str(tmp_path / "data"))
    df = spark.read.parquet(str(tmp_path / "data"))
    for file in (tmp_path / "data").glob("*.parquet"):
        file.unlink()
    with pytest.raises(ps.PartitionFailed, match=r"partition 0: .*FileNotFound"):
        ps.from_dataframe(df).collect(timeout=JOB_DEADLINE)


def test_subscriber_that_raises_cancels_the_jobs(spark: Any) -> None:
    dropped: list[BaseException] = []
    before = pyrs.set_error_hook(lambda error, where: dropped.append(error))
    try:

        def broken(row: Any) -> None:
            raise ArithmeticError("mine")

        ps.from_dataframe(spark.range(0, 100, 1, 20)).subscribe(on_next=broken)
        eventually(lambda: dropped)
        eventually(lambda: active_jobs(spark) == 0)
    finally:
        pyrs.set_error_hook(before)
    assert [str(error) for error in dropped] == ["mine"]


def test_jobs_inherit_local_properties_and_subscribers_see_no_tag(spark: Any) -> None:
    context = spark.sparkContext
    seen: list[Any] = []

    class Watch:
        """Records the pool and the tags of the thread that signals."""

        def __call__(self, row: Any) -> None:
            seen.append((context.getLocalProperty("spark.scheduler.pool"), len(context.getJobTags())))

    context.setLocalProperty("spark.scheduler.pool", "mine")
    try:
        df = local_property(spark.range(0, 1, 1, 1), "spark.scheduler.pool")
        stream = ps.from_dataframe(df, as_="tuples")
        assert stream.collect(timeout=JOB_DEADLINE) == [("mine",)]
        stream.for_each(Watch(), timeout=JOB_DEADLINE)
    finally:
        context.setLocalProperty("spark.scheduler.pool", None)
    assert seen == [(None, 0)]
    assert len(context.getJobTags()) == 0


def test_many_small_partitions_do_not_wait_for_acknowledgements(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux delays a TCP acknowledgement by 40 ms. Spark's ``toLocalIterator`` waits for it with each partition.

    On a busy machine some partitions take that long, so the test requires only that one is faster.
    """
    connected, frames = partitions._connected, partitions._frames
    began: dict[int, float] = {}
    seconds: list[float] = []

    def begins(*arguments: Any) -> Any:
        began[threading.get_ident()] = time.monotonic()
        return connected(*arguments)

    def ends(connection: Any) -> Iterator[bytes]:
        yield from frames(connection)
        seconds.append(time.monotonic() - began[threading.get_ident()])

    monkeypatch.setattr(partitions, "_connected", begins)
    monkeypatch.setattr(partitions, "_frames", ends)
    stream = ps.from_dataframe(spark.range(0, 1000, 1, 100), as_="tuples", window=4)
    assert len(stream.collect(timeout=JOB_DEADLINE)) == 1000
    assert len(seconds) == 100
    assert min(seconds) < 0.04


def test_bytes_of_the_jvm_are_read_one_by_one() -> None:
    """Java 8 and 11 write the length of the answer to the secret as four single bytes, which may arrive separately."""

    class SingleBytes(io.RawIOBase):
        def __init__(self, content: bytes) -> None:
            self._content = iter(content)

        def read(self, size: int = -1, /) -> bytes:
            return bytes(islice(self._content, 1))

    assert partitions._exactly(SingleBytes(b"four and more"), 4) == b"four"
    with pytest.raises(ConnectionError, match="closed the connection 2 bytes too early"):
        partitions._exactly(SingleBytes(b"cut"), 5)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"as_": "lists"}, ValueError, "as_ must be one of 'rows', 'tuples', 'dicts', 'arrow', 'pandas', not 'lists'"),
        ({"as_": 3}, TypeError, "as_ must be a string, not int"),
        ({"window": 0}, ValueError, "window must be at least 1, not 0"),
        ({"window": "4"}, TypeError, "window must be an integer, not str"),
    ],
)
def test_wrong_arguments_raise(spark: Any, arguments: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        ps.from_dataframe(spark.range(1), **arguments)


def test_unsupported_dataframes_raise(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match="df must be a DataFrame, not list"):
        ps.from_dataframe([1])
    frame = type("DataFrame", (), {"__module__": "pandas.core.frame"})()
    with pytest.raises(TypeError, match=r"df must be a DataFrame, not pandas\.core\.frame\.DataFrame"):
        ps.from_dataframe(frame)
    with pytest.raises(ValueError, match="df is a streaming DataFrame: use from_stream"):
        ps.from_dataframe(spark.readStream.format("rate").load())
    with pytest.raises(TypeError, match="column 'years' is of type interval year, which Arrow cannot carry"):
        ps.from_dataframe(spark.sql("select 1 as one, interval '3' year as years"))
    monkeypatch.setitem(os.environ, "PYSPARK_PIN_THREAD", "false")
    with pytest.raises(JvmUnavailable, match="PYSPARK_PIN_THREAD"):
        ps.from_dataframe(spark.range(1))


def test_a_stopped_session_is_refused(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call raises; if the session stops after the call, the stream fails."""
    df = spark.range(1)
    stream = ps.from_dataframe(df)
    monkeypatch.setattr(spark.sparkContext, "_jsc", None)
    with pytest.raises(JvmUnavailable, match="the SparkSession was stopped"):
        ps.from_dataframe(df)
    with pytest.raises(JvmUnavailable, match="the SparkSession was stopped"):
        stream.collect(timeout=JOB_DEADLINE)


def test_repr_shows_the_call(spark: Any) -> None:
    text = repr(ps.from_dataframe(spark.range(1), as_="arrow", window=2))
    assert "from_dataframe(DataFrame[id], as_='arrow', window=2)" in text


def test_small_partitions_share_jobs(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[range] = []
    run = partitions.JvmReader._run_over

    def counted(self: Any, rdd: Any, of_job: range) -> Any:
        jobs.append(of_job)
        return run(self, rdd, of_job)

    monkeypatch.setattr(partitions.JvmReader, "_run_over", counted)
    frame = spark.range(0, 600, 1, 300)
    assert ps.from_dataframe(frame, "tuples").collect(timeout=JOB_DEADLINE) == [(n,) for n in range(600)]
    assert len(jobs) < 150 and max(map(len, jobs)) > 1
    jobs.clear()
    assert len(ps.from_dataframe(spark.range(0, 20, 1, 20), window=2).collect(timeout=JOB_DEADLINE)) == 20
    assert len(jobs) == 20, "a job of a stream with a window has several partitions"


def test_jobs_read_at_most_four_partitions_more_than_demanded(spark: Any, gates: Gates) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(0)
    ps.from_dataframe(gates.guard(spark.range(0, 100, 1, 100)), "tuples").subscribe(subscriber)
    gates.open()
    for n in range(1, 31):
        subscriber.request(1)
        subscriber.await_count(n, JOB_DEADLINE)
    assert len(gates.began()) <= 30 + 4
    subscriber.cancel()


def test_a_failed_partition_of_a_shared_job_is_named(spark: Any) -> None:
    frame = spark.sql("select if(id = 250, raise_error('planned failure'), id) as id from range(0, 300, 1, 300)")
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    ps.from_dataframe(frame, "tuples").subscribe(subscriber)
    error = subscriber.await_error(ps.PartitionFailed, JOB_DEADLINE)
    assert error.partition == 250 and "planned failure" in str(error)
    assert subscriber.elements == [(n,) for n in range(250)]


def test_a_cancelled_job_of_several_partitions_is_not_run_again(
    spark: Any, gates: Gates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        dataframes, "_MAX_JOB_SECONDS", 1e6
    )  # the second job has many partitions on a slow machine, too
    for number in range(20):
        gates.open(number)
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    ps.from_dataframe(gates.guard(spark.range(0, 64, 1, 64)), "tuples").subscribe(subscriber)
    eventually(lambda: len(gates.began()) > 20, seconds=JOB_DEADLINE)
    spark.sparkContext.cancelAllJobs()
    error = subscriber.await_error(ps.PartitionFailed, JOB_DEADLINE)
    assert "cancelled" in str(error) and len(subscriber.elements) <= 20


def test_structs_with_two_fields_of_the_same_name_can_be_read_as_rows_and_tuples(spark: Any, reader: str) -> None:
    inner = "named_struct('a', id, 'a', named_struct('b', 1, 'b', null))"
    df = spark.range(3).selectExpr(f"{inner} as x", f"array({inner}) as y", f"map('k', {inner}) as y", "id")
    assert ps.from_dataframe(df).collect(timeout=JOB_DEADLINE) == df.collect()
    assert ps.from_dataframe(df, "tuples").collect(timeout=JOB_DEADLINE) == [tuple(row) for row in df.collect()]
    for as_ in ("dicts", "arrow", "pandas"):
        with pytest.raises(ValueError, match=r"names?"):
            ps.from_dataframe(df, as_)


def test_a_barrier_stage_is_read_by_one_job(spark: Any, reader: str) -> None:
    barrier = spark.range(0, 8, 1, 4).mapInArrow(lambda batches: batches, "id long", barrier=True)
    stream = ps.from_dataframe(barrier, "tuples", window=2)
    assert stream.collect(timeout=JOB_DEADLINE) == [(n,) for n in range(8)]


def test_a_failed_partition_of_a_barrier_stage_is_named(spark: Any) -> None:
    barrier = spark.range(0, 4, 1, 2).mapInArrow(lambda batches: batches, "id long", barrier=True)
    failing = barrier.selectExpr("if(id = 3, raise_error('planned failure'), id)")
    with pytest.raises(ps.PartitionFailed, match=r"partition 1: .*planned failure"):
        ps.from_dataframe(failing).collect(timeout=JOB_DEADLINE)
