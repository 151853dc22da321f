"""for_each_partition: a Subscriber for each partition on the executors, whose errors fail the task."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pyrs
from pyrs import spark as ps
from pyrs.spark.executors.tasks import SubscriberTask
from pyrs.testing import TestSubscriber
from tests.spark.gates import Gates
from tests.spark.jobs import JOB_DEADLINE, active_jobs
from tests.waiting import eventually

pytest.importorskip("pandas")  # mapInArrow needs it


def writer(folder: Path) -> Callable[[], Any]:
    """Return a factory of Subscribers that write a file for each partition."""
    place = str(folder)

    def make() -> Any:
        from pyspark import TaskContext

        class Writer(pyrs.Subscriber[Any]):
            def on_subscribe(self, subscription: Any, /) -> None:
                self.subscription = subscription
                self.path = Path(place, str(TaskContext.get().partitionId()))
                self.lines: list[str] = []
                subscription.request(1)

            def on_next(self, row: Any, /) -> None:
                self.lines.append(str(row.id))
                self.subscription.request(1)

            def on_error(self, error: BaseException, /) -> None: ...

            def on_complete(self) -> None:
                self.path.write_text(" ".join([*self.lines, "end"]))

        return Writer()

    return make


def written(folder: Path) -> dict[str, list[str]]:
    return {file.name: file.read_text().split() for file in sorted(folder.iterdir())}


WHOLE = {"0": ["0", "1", "2", "end"], "1": ["3", "4", "5", "end"]}


def test_each_partition_has_its_own_subscriber(spark: Any, tmp_path: Path) -> None:
    counted = ps.for_each_partition(spark.range(0, 6, 1, 2), writer(tmp_path))
    assert written(tmp_path) == {}
    assert counted.block(JOB_DEADLINE) == 6
    assert written(tmp_path) == WHOLE


def test_for_each_partition_can_be_awaited(spark: Any, tmp_path: Path) -> None:
    async def main() -> int:
        return await ps.for_each_partition(spark.range(0, 6, 1, 2), writer(tmp_path))

    assert asyncio.run(main()) == 6
    assert written(tmp_path) == WHOLE


def streaming(spark: Any, folder: Path) -> Any:
    """Return a streaming DataFrame of two batches: 0, 1, 2 and 3, 4."""
    source = folder / "source"
    for first, end in ((0, 3), (3, 5)):
        before = set(source.glob("*.json"))
        spark.range(first, end, 1, 1).write.mode("append").json(str(source))
        (file,) = set(source.glob("*.json")) - before
        os.utime(file, (first, first))  # Spark orders files by this time, and the clock may be coarse
    return spark.readStream.schema("id long").option("maxFilesPerTrigger", 1).json(str(source))


def test_for_each_partition_works_inside_foreach_batch(spark: Any, tmp_path: Path) -> None:
    sdf, folder = streaming(spark, tmp_path), tmp_path / "folder"
    folder.mkdir()
    make = writer(folder)
    counts: list[int] = []
    query = sdf.writeStream.foreachBatch(
        lambda batch, number: counts.append(ps.for_each_partition(batch, make).block(JOB_DEADLINE))
    )
    query.trigger(availableNow=True).start().awaitTermination()
    assert counts == [3, 2]
    assert written(folder) == {"0": ["3", "4", "end"]}


def test_a_streaming_dataframe_runs_as_a_query(spark: Any, tmp_path: Path) -> None:
    sdf, folder = streaming(spark, tmp_path), tmp_path / "folder"
    folder.mkdir()
    options: Any = {"checkpoint": tmp_path / "checkpoint", "trigger": {"availableNow": True}}
    counted = ps.for_each_partition(sdf, writer(folder), **options)
    assert written(folder) == {}
    assert counted.block(JOB_DEADLINE) == 5
    assert written(folder) == {"0": ["3", "4", "end"]}
    assert counted.block(JOB_DEADLINE) == 0
    with pytest.raises(ValueError, match="checkpoint and trigger need a streaming DataFrame"):
        ps.for_each_partition(spark.range(1), writer(folder), **options)


def test_cancel_stops_the_query(spark: Any, tmp_path: Path) -> None:
    place = str(tmp_path)

    def make() -> Any:
        class Waiting(pyrs.Subscriber[Any]):
            def on_subscribe(self, subscription: Any, /) -> None:
                Path(place, "began").touch()

            def on_next(self, row: Any, /) -> None: ...
            def on_error(self, error: BaseException, /) -> None: ...
            def on_complete(self) -> None: ...

        return Waiting()

    counted: TestSubscriber[int] = TestSubscriber(None)
    ps.for_each_partition(streaming(spark, tmp_path), make, checkpoint=tmp_path / "checkpoint").subscribe(counted)
    eventually((tmp_path / "began").exists)
    counted.cancel()
    eventually(lambda: not spark.streams.active and not active_jobs(spark))
    counted.assert_live()
    assert list(tmp_path.glob("checkpoint/commits/[0-9]*")) == []


@pytest.mark.parametrize("is_stream", [False, True])
def test_cancel_does_not_interrupt_task_threads(spark: Any, tmp_path: Path, is_stream: bool) -> None:
    """An interrupt while Spark starts a Python worker ends the workers of all other jobs, too."""
    place = str(tmp_path / "interrupts")

    def make() -> Any:
        from pyspark import TaskContext

        class Looking(pyrs.Subscriber[Any]):
            def on_subscribe(self, subscription: Any, /) -> None:
                context: Any = TaskContext.get()
                Path(place).write_text(str(context.getLocalProperty("spark.job.interruptOnCancel")))
                subscription.cancel()

            def on_next(self, row: Any, /) -> None: ...
            def on_error(self, error: BaseException, /) -> None: ...
            def on_complete(self) -> None: ...

        return Looking()

    df = streaming(spark, tmp_path) if is_stream else spark.range(0, 1, 1, 1)
    ps.for_each_partition(df, make, trigger={"availableNow": True} if is_stream else None).block(JOB_DEADLINE)
    assert Path(place).read_text() == "false"


def test_an_error_of_a_subscriber_fails_the_query(spark: Any, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    with pytest.raises(StreamingQueryException) as caught:
        ps.for_each_partition(streaming(spark, tmp_path), lambda: None).block(JOB_DEADLINE)
    assert isinstance(caught.value.__cause__, ps.PartitionFailed)
    assert caught.value.__cause__.partition == 0


def test_an_error_of_a_subscriber_fails_the_task(spark: Any) -> None:
    def make() -> Any:
        class Broken(pyrs.Subscriber[Any]):
            def on_subscribe(self, subscription: Any, /) -> None:
                subscription.request(100)

            def on_next(self, row: Any, /) -> None:
                if row.id == 4:
                    raise ArithmeticError("four")

            def on_error(self, error: BaseException, /) -> None: ...
            def on_complete(self) -> None: ...

        return Broken()

    with pytest.raises(ps.PartitionFailed) as caught:
        ps.for_each_partition(spark.range(0, 6, 1, 2), make).block(JOB_DEADLINE)
    assert caught.value.partition == 1
    assert str(caught.value) == "partition 1: ArithmeticError: four"
    assert caught.value.__cause__ is not None


def test_cancel_cancels_the_job(spark: Any, tmp_path: Path) -> None:
    gates = Gates(tmp_path)
    df = gates.guard(spark.range(0, 6, 1, 2))
    counted: TestSubscriber[int] = TestSubscriber(None)
    ps.for_each_partition(df, lambda: None).subscribe(counted)
    eventually(lambda: gates.began() == {0, 1})
    counted.cancel()
    eventually(lambda: not active_jobs(spark))
    counted.assert_live()


def test_the_error_of_a_job_that_others_cancel_is_not_its_own_cause(spark: Any, tmp_path: Path) -> None:
    """A loop over the causes of an error would not end."""
    gates = Gates(tmp_path)
    df = gates.guard(spark.range(0, 6, 1, 2))
    counted: TestSubscriber[int] = TestSubscriber(None)
    spark.sparkContext.addJobTag("others")
    try:
        ps.for_each_partition(df, lambda: None).subscribe(counted)
    finally:
        spark.sparkContext.removeJobTag("others")
    eventually(lambda: gates.began() == {0, 1})
    spark.sparkContext.cancelJobsWithTag("others")
    error = counted.await_error(timeout=JOB_DEADLINE)
    assert "cancelled" in str(error)
    assert error.__cause__ is None


# These tests run the task of an executor in this process.


def delivered(subscriber: Any, batches: Any = None) -> int:
    from pyspark.sql import types as t

    from pyrs.spark.schema.arrow import checked_shape
    from pyrs.spark.schema.rows import RowEncoder

    schema = t.StructType().add("n", t.LongType())
    if batches is None:
        batches = [RowEncoder(schema).batch([(i,) for i in range(5)])]
    delivery = SubscriberTask(lambda: subscriber, checked_shape("tuples", schema, "UTC"))
    (batch,) = delivery.run(3, batches)
    (count,) = batch.column(0).to_pylist()
    return int(count)


class Taker(pyrs.Subscriber[Any]):
    """Requests elements once, and cancels after ``cancel_after`` elements if that is given."""

    def __init__(self, requests: int = 1, cancel_after: int | None = None) -> None:
        self.requests = requests
        self.cancel_after = cancel_after
        self.seen: list[Any] = []
        self.ends: list[Any] = []

    def on_subscribe(self, subscription: Any, /) -> None:
        self.subscription = subscription
        subscription.request(self.requests)

    def on_next(self, element: Any, /) -> None:
        self.seen.append(element)
        if len(self.seen) == self.cancel_after:
            self.subscription.cancel()

    def on_error(self, error: BaseException, /) -> None:
        self.ends.append(error)

    def on_complete(self) -> None:
        self.ends.append("complete")


def test_a_subscriber_receives_the_elements_that_it_requests() -> None:
    from threading import Thread

    taker = Taker(2)

    def more() -> None:
        eventually(lambda: len(taker.seen) == 2)
        taker.subscription.request(10)

    thread = Thread(target=more)
    thread.start()
    assert delivered(taker) == 5
    thread.join()
    assert taker.ends == ["complete"]


def test_a_cancel_of_the_subscriber_ends_the_task() -> None:
    taker = Taker(9, cancel_after=2)
    assert delivered(taker) == 2
    assert taker.seen == [(0,), (1,)] and taker.ends == []


@pytest.mark.parametrize("method", ["on_subscribe", "on_next", "on_complete"])
def test_a_stop_iteration_of_a_subscriber_fails_the_partition(method: str) -> None:
    def exhausted(*arguments: Any) -> None:
        next(iter(()))

    taker = Taker(9)
    setattr(taker, method, exhausted)
    with pytest.raises(ps.PartitionFailed, match="partition 3: StopIteration"):
        delivered(taker)


def test_an_error_of_spark_is_signalled_and_raised() -> None:
    def broken() -> Any:
        yield from ()
        raise OSError("the socket")

    taker = Taker(9)
    with pytest.raises(ps.PartitionFailed, match="partition 3: OSError: the socket"):
        delivered(taker, broken())
    assert [type(end) for end in taker.ends] == [OSError]


def test_coroutine_methods_are_awaited_and_their_errors_raised() -> None:
    seen: list[Any] = []

    class Coroutines:
        broken = False

        async def on_subscribe(self, subscription: Any) -> None:
            self.subscription = subscription
            subscription.request(1)

        async def on_next(self, element: Any) -> None:
            await asyncio.sleep(0)
            seen.append(element)
            if self.broken:
                raise ArithmeticError("mine")
            self.subscription.request(1)

        def on_error(self, error: BaseException) -> None:
            seen.append(error)

        async def on_complete(self) -> None:
            await asyncio.sleep(0)
            seen.append("complete")

    assert delivered(Coroutines()) == 5
    assert seen[-1] == "complete"
    seen.clear()
    broken = Coroutines()
    broken.broken = True
    with pytest.raises(ps.PartitionFailed, match="partition 3: ArithmeticError: mine"):
        delivered(broken)
    assert seen == [(0,)]


def test_a_factory_must_return_a_subscriber() -> None:
    with pytest.raises(ps.PartitionFailed, match="partition 3: TypeError: "):
        delivered(7)


def test_wrong_arguments_raise(spark: Any) -> None:
    with pytest.raises(TypeError, match="df must be a DataFrame, not int"):
        ps.for_each_partition(3, lambda: None)
    with pytest.raises(TypeError, match="subscriber_factory must be callable"):
        ps.for_each_partition(spark.range(1), 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="as_ must be one of"):
        ps.for_each_partition(spark.range(1), lambda: None, as_="lists")
    with pytest.raises(ValueError, match="df has no column, so Spark does not send its rows to tasks"):
        ps.for_each_partition(spark.range(1).select(), lambda: None)
