"""for_each_frame: the size of frames, buffering while the function runs, and termination."""

from __future__ import annotations

import asyncio
import datetime
import threading
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from pyspark.sql import types

import pyrs
from pyrs import schedulers
from pyrs import spark as ps
from pyrs.errors import JvmUnavailable
from pyrs.spark import sessions
from pyrs.spark.source import microframes
from pyrs.testing import TestPublisher, TestSubscriber
from tests.spark.gates import Gates
from tests.spark.jobs import JOB_DEADLINE, local_property
from tests.waiting import eventually, eventually_on_loop

SCHEMA = "n long"


def rows_into(frames: list[list[int]]) -> Callable[[Any], None]:
    return lambda df: frames.append([row.n for row in df.collect()])


def tuples(count: int) -> pyrs.Stream[tuple[int]]:
    return pyrs.range(count).map(lambda n: (n,))


def test_each_frame_has_max_rows_and_the_last_one_the_remaining_rows(spark: Any) -> None:
    frames: list[list[int]] = []
    count = ps.for_each_frame(tuples(7), SCHEMA, rows_into(frames), max_rows=3, max_wait=60)
    assert frames == []
    assert count.block(JOB_DEADLINE) == 7
    assert frames == [[0, 1, 2], [3, 4, 5], [6]]


def test_an_empty_publisher_makes_no_frame(spark: Any) -> None:
    frames: list[list[int]] = []
    assert ps.for_each_frame(pyrs.empty(), SCHEMA, rows_into(frames)).block(JOB_DEADLINE) == 0
    assert frames == []


class Moment:
    """A value of a user-defined type."""

    def __init__(self, at: datetime.datetime) -> None:
        self.at = at


class MomentType(types.UserDefinedType):
    """A user-defined type that is stored as a struct with a timestamp."""

    @classmethod
    def sqlType(cls) -> types.StructType:
        return types.StructType().add("at", types.TimestampType())

    @classmethod
    def module(cls) -> str:
        return cls.__module__

    def serialize(self, obj: Moment) -> tuple[datetime.datetime]:
        return (obj.at,)

    def deserialize(self, datum: Any) -> Moment:
        return Moment(datum[0])


Moment.__UDT__ = MomentType()  # type: ignore[attr-defined]


def test_a_frame_may_have_user_defined_types(spark: Any) -> None:
    at = datetime.datetime(2024, 5, 6, 7, 8, 9)
    schema = types.StructType().add("m", MomentType()).add("a", types.ArrayType(MomentType()))
    found: list[Any] = []
    rows = pyrs.just((Moment(at), [Moment(at), None]), (None, None))
    assert ps.for_each_frame(rows, schema, lambda df: found.extend(df.collect())).block(JOB_DEADLINE) == 2
    assert [found[0].m.at, found[0].a[0].at, *found[0].a[1:]] == [at, at, None] and tuple(found[1]) == (None, None)


@pytest.mark.usefixtures("_new_york")
@pytest.mark.parametrize("takes_arrow", [True, False])
def test_a_naive_time_keeps_its_fold(spark: Any, monkeypatch: pytest.MonkeyPatch, takes_arrow: bool) -> None:
    """PySpark 3.5 takes no Arrow tables, and ignores the fold of naive times."""
    monkeypatch.setattr(microframes, "_TAKES_ARROW", microframes._TAKES_ARROW and takes_arrow)
    first = datetime.datetime(2024, 11, 3, 1, 30)
    rows = pyrs.just(*((at, [at], {"k": (at,)}) for at in (first, first.replace(fold=1))), (None, [None], None))
    schema = "t timestamp, a array<timestamp>, m map<string, struct<s timestamp>>"
    hours = ["hour(t) as t", "hour(a[0]) as a", "hour(m['k'].s) as m"]
    found: list[Any] = []
    frames = ps.for_each_frame(rows, schema, lambda df: found.extend(df.selectExpr(*hours).collect()))
    assert frames.block(JOB_DEADLINE) == 3
    assert found == [(5, 5, 5), (6, 6, 6), (None, None, None)]


def test_max_wait_ends_a_frame(spark: Any) -> None:
    time = schedulers.VirtualTime()
    source: TestPublisher[Any] = TestPublisher(timeout=JOB_DEADLINE)
    frames: list[list[int]] = []
    counted: TestSubscriber[int] = TestSubscriber(None)
    with schedulers.use(time):
        ps.for_each_frame(source, SCHEMA, rows_into(frames), max_rows=100, max_wait=5).subscribe(counted)
    source.await_requested(100).assert_max_requested(100)
    source.next((1,))
    source.next({"n": 2})
    eventually(lambda: time.pending)
    time.advance_by(4.9)
    assert frames == []
    time.advance_by(0.2)
    eventually(lambda: frames == [[1, 2]])
    source.next((3,))
    source.complete()
    assert counted.await_complete(JOB_DEADLINE) == [3]
    assert frames == [[1, 2], [3]]


def test_a_slow_pulled_source_does_not_delay_buffered_rows(spark: Any) -> None:
    go_on = Event()
    frames: list[list[int]] = []

    def slowly() -> Any:
        yield (1,)
        assert go_on.wait(JOB_DEADLINE)
        yield (2,)

    counted: TestSubscriber[int] = TestSubscriber(None)
    ps.for_each_frame(pyrs.from_iterable(slowly()), SCHEMA, rows_into(frames), max_wait=0.01).subscribe(counted)
    eventually(lambda: frames == [[1]])
    go_on.set()
    assert counted.await_complete(JOB_DEADLINE) == [2]


def test_one_frame_is_buffered_while_the_function_runs(spark: Any) -> None:
    source: TestPublisher[Any] = TestPublisher(timeout=JOB_DEADLINE)
    began, go_on = Event(), Event()
    sizes: list[int] = []

    def wait(df: Any) -> None:
        began.set()
        assert go_on.wait(JOB_DEADLINE)
        sizes.append(df.count())

    counted: TestSubscriber[int] = TestSubscriber(None)
    ps.for_each_frame(source, SCHEMA, wait, max_rows=4, max_wait=60).subscribe(counted)
    source.await_requested(4).assert_max_requested(4)
    for n in range(4):
        source.next((n,))
    assert began.wait(JOB_DEADLINE)
    source.await_requested(8).assert_max_requested(8)
    for n in range(4):
        source.next((n,))
    source.assert_max_requested(8)
    go_on.set()
    source.await_requested(12).assert_max_requested(12)
    source.complete()
    assert counted.await_complete(JOB_DEADLINE) == [8]
    assert sizes == [4, 4]


def test_demand_is_replenished_after_a_short_frame(spark: Any) -> None:
    source: TestPublisher[Any] = TestPublisher(timeout=JOB_DEADLINE)
    frames: list[list[int]] = []
    counted: TestSubscriber[int] = TestSubscriber(None)
    ps.for_each_frame(source, SCHEMA, rows_into(frames), max_rows=100, max_wait=0.001).subscribe(counted)
    source.await_requested(100).assert_max_requested(100)
    source.next((0,))
    source.await_requested(101).assert_max_requested(101)
    counted.cancel()


def test_an_error_of_the_function_cancels_upstream(spark: Any) -> None:
    source: TestPublisher[Any] = TestPublisher(timeout=JOB_DEADLINE)
    counted: TestSubscriber[int] = TestSubscriber(None)

    def broken(df: Any) -> None:
        raise ArithmeticError("mine")

    ps.for_each_frame(source, SCHEMA, broken, max_rows=1).subscribe(counted)
    source.await_requested(1)
    source.next((1,))
    assert str(counted.await_error(ArithmeticError, JOB_DEADLINE)) == "mine"
    source.await_cancelled()


def test_a_coroutine_that_the_function_returns_is_an_error(spark: Any) -> None:
    async def store(df: Any) -> None:
        raise AssertionError("nothing awaits this")

    with pytest.raises(TypeError, match="the function returned a coroutine, and nothing awaits it here"):
        ps.for_each_frame(tuples(3), SCHEMA, lambda df: store(df)).block(JOB_DEADLINE)


def test_a_jvm_that_ends_between_two_frames_fails_the_result(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source: TestPublisher[Any] = TestPublisher(timeout=JOB_DEADLINE)
    counted: TestSubscriber[int] = TestSubscriber(None)

    def fail(*_: object) -> Any:
        raise ConnectionError("the JVM has ended")

    monkeypatch.setattr(sessions, "_CHECK_SECONDS", JOB_DEADLINE)
    monkeypatch.setattr(sessions, "inherited", lambda spark, task: fail)
    ps.for_each_frame(source, SCHEMA, lambda df: df.count(), max_rows=1, spark=spark).subscribe(counted)
    monkeypatch.setattr(sessions, "why_stopped", lambda spark: "it has ended")
    monkeypatch.setattr(microframes, "_dataframe", fail)
    source.await_requested(1)
    source.next((1,))
    assert str(counted.await_error(JvmUnavailable, JOB_DEADLINE).__cause__) == "the JVM has ended"


def test_a_stopped_session_fails_a_stream_that_waits_for_elements(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source: TestPublisher[Any] = TestPublisher(timeout=JOB_DEADLINE)
    counted: TestSubscriber[int] = TestSubscriber(None)
    ps.for_each_frame(source, SCHEMA, print).subscribe(counted)
    source.await_requested(1)
    monkeypatch.setattr(sessions, "why_stopped", lambda spark: "it was stopped")
    assert str(counted.await_error(JvmUnavailable, JOB_DEADLINE)) == "it was stopped"
    source.await_cancelled()


def test_an_upstream_error_follows_the_rows_before_it(spark: Any) -> None:
    frames: list[list[int]] = []
    source = tuples(3).concat(pyrs.error(ArithmeticError("theirs")))
    with pytest.raises(ArithmeticError, match="theirs"):
        ps.for_each_frame(source, SCHEMA, rows_into(frames), max_rows=2, max_wait=60).block(JOB_DEADLINE)
    assert frames == [[0, 1], [2]]


def test_a_misfit_is_named_and_its_frame_is_not_processed(spark: Any) -> None:
    frames: list[list[int]] = []
    source = pyrs.just((0,), (1,), (2,), ("three",))
    with pytest.raises(ps.SchemaMisfit, match=r"element 3, \('three',\): field 'n' is of type bigint, but 'three' is"):
        ps.for_each_frame(source, SCHEMA, rows_into(frames), max_rows=2).block(JOB_DEADLINE)
    assert frames == [[0, 1]]


def test_cancel_cancels_upstream_and_the_jobs(spark: Any, tmp_path: Any) -> None:
    gates = Gates(tmp_path)
    source: TestPublisher[Any] = TestPublisher(timeout=JOB_DEADLINE)
    returned = Event()

    def wait(df: Any) -> None:
        try:
            gates.guard(df.coalesce(1)).collect()
        finally:
            returned.set()

    counted: TestSubscriber[int] = TestSubscriber(None)
    ps.for_each_frame(source, SCHEMA, wait, max_rows=1).subscribe(counted)
    source.await_requested(1)
    source.next((1,))
    eventually(gates.began, seconds=JOB_DEADLINE)
    counted.cancel()
    assert returned.wait(JOB_DEADLINE)
    source.await_cancelled()
    counted.assert_live()


def test_cancelling_a_task_that_awaits_the_count_cancels_upstream(spark: Any) -> None:
    frames: list[list[int]] = []
    source: TestPublisher[Any] = TestPublisher(timeout=JOB_DEADLINE)

    async def main() -> None:
        assert await ps.for_each_frame(tuples(3), SCHEMA, rows_into(frames), max_wait=0.01) == 3
        task = asyncio.ensure_future(_awaited(ps.for_each_frame(source, SCHEMA, rows_into(frames))))
        await eventually_on_loop(lambda: source.requests)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert sum(map(len, frames)) == 3
    source.await_cancelled()


async def _awaited(count: pyrs.Single[int]) -> int:
    return await count


def test_the_function_has_the_local_properties_of_the_subscribing_thread(spark: Any) -> None:
    context = spark.sparkContext
    seen: list[Any] = []

    def look(df: Any) -> None:
        name = threading.current_thread().name
        seen.append((context.getLocalProperty("spark.scheduler.pool"), len(context.getJobTags()), name[:4]))

    context.setLocalProperty("spark.scheduler.pool", "mine")
    try:
        ps.for_each_frame(tuples(1), SCHEMA, look, max_wait=0.01).block(JOB_DEADLINE)
    finally:
        context.setLocalProperty("spark.scheduler.pool", None)
    assert seen == [("mine", 1, "pyrs")]


def test_cancel_does_not_interrupt_task_threads(spark: Any) -> None:
    """An interrupt while Spark starts a Python worker ends the workers of all other jobs, too."""
    seen: list[Any] = []

    def look(df: Any) -> None:
        seen.extend(local_property(df, "spark.job.interruptOnCancel").collect())

    ps.for_each_frame(tuples(1), SCHEMA, look, max_wait=0.01).block(JOB_DEADLINE)
    assert [tuple(row) for row in seen] == [("false",)]


def test_frames_before_spark_4_have_the_same_rows(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microframes, "_TAKES_ARROW", False)
    seen: list[Any] = []
    source = pyrs.just((1, {"a": [1]}), {"n": 2})
    schema = "n long, m map<string, array<int>>"
    ps.for_each_frame(source, schema, lambda df: seen.extend(df.collect()), max_wait=0.01).block(JOB_DEADLINE)
    assert [tuple(row) for row in seen] == [(1, {"a": [1]}), (2, None)]


def test_a_null_struct_may_have_fields_that_are_not_nullable(spark: Any) -> None:
    rows = spark.sql("select named_struct('a', array(timestamp'2024-01-01 00:00:00')) s union all select null")
    seen: list[Any] = []
    source = pyrs.from_iterable(rows.collect())
    ps.for_each_frame(source, rows.schema, lambda df: seen.extend(df.collect()), max_wait=0.01).block(JOB_DEADLINE)
    assert seen == rows.collect()


def test_wrong_arguments_raise(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    good = (pyrs.empty(), SCHEMA, print)
    with pytest.raises(TypeError, match="publisher must be a Publisher"):
        ps.for_each_frame(3, SCHEMA, print)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="schema must be a StructType or a string, not int"):
        ps.for_each_frame(pyrs.empty(), 3, print)
    with pytest.raises(TypeError, match="fn must be callable"):
        ps.for_each_frame(pyrs.empty(), SCHEMA, None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_rows must be at least 1"):
        ps.for_each_frame(*good, max_rows=0)
    with pytest.raises(ValueError, match="max_wait must be"):
        ps.for_each_frame(*good, max_wait=0)
    with pytest.raises(TypeError, match="spark must be a SparkSession, not str"):
        ps.for_each_frame(*good, spark="spark")
    monkeypatch.setenv("PYSPARK_PIN_THREAD", "false")
    with pytest.raises(JvmUnavailable, match="PYSPARK_PIN_THREAD"):
        ps.for_each_frame(*good)
