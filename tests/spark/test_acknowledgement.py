"""from_stream with explicit acknowledgement delivers each batch at least once, even if the driver is killed."""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import pyrs
from pyrs import spark as ps
from pyrs.testing import TestSubscriber
from tests.spark.jobs import JOB_DEADLINE
from tests.spark.test_from_stream import Numbers, committed
from tests.waiting import collected, eventually


@pytest.fixture
def numbers(spark: Any, tmp_path: Path) -> Iterator[Numbers]:
    numbers = Numbers(spark, tmp_path)
    for n in range(4):
        numbers.add(n)
    yield numbers
    for query in spark.streams.active:
        query.stop()


def explicit(numbers: Numbers, **options: Any) -> Any:
    return numbers.stream(acknowledge="explicit", **options)


async def later(batch: Any) -> Any:
    return batch


OPERATORS: dict[str, Callable[[Any], Any]] = {
    "none": lambda stream: stream,
    "concat_map": lambda stream: stream.concat_map(lambda batch: pyrs.just(batch)),
    "flat_map": lambda stream: stream.flat_map(lambda batch: pyrs.just(batch)),
    "map": lambda stream: stream.map(lambda batch: batch),
    "publish_on": lambda stream: stream.publish_on(pyrs.schedulers.single()),
    "on_backpressure_buffer": lambda stream: stream.on_backpressure_buffer(16),
}


def test_no_operator_acknowledges(numbers: Numbers, tmp_path: Path) -> None:
    """Run one query for each operator, all at the same time, because each waits for a commit that must not happen."""
    subscribers: dict[str, TestSubscriber[Any]] = {name: TestSubscriber(None) for name in OPERATORS}
    for name, subscriber in subscribers.items():
        OPERATORS[name](explicit(numbers, checkpoint=tmp_path / name)).subscribe(subscriber)
    for subscriber in subscribers.values():
        subscriber.await_count(1, JOB_DEADLINE)
    numbers.wait_for_early_commit()
    for name, subscriber in subscribers.items():
        assert committed(tmp_path / name) == set() and len(subscriber.elements) == 1, name
        subscriber.elements[0].ack()
    for name, subscriber in subscribers.items():
        assert [batch.batch_id for batch in subscriber.await_count(2, JOB_DEADLINE)] == [0, 1], name
        assert committed(tmp_path / name) == {0}, name
        subscriber.cancel()
    eventually(lambda: not numbers.spark.streams.active)


def test_iteration_does_not_acknowledge_a_batch(numbers: Numbers) -> None:
    batches = iter(explicit(numbers).to_iterable())
    first = next(batches)
    numbers.wait_for_early_commit()
    assert numbers.committed() == set()
    with first:
        pass
    assert next(batches) == ps.Batch(1, [(1,)])
    assert numbers.committed() == {0}
    batches.close()  # type: ignore[attr-defined]


def test_a_with_block_that_raises_does_not_acknowledge(numbers: Numbers) -> None:
    with pytest.raises(ArithmeticError, match="mine"):
        for batch in explicit(numbers).to_iterable():
            with batch:
                raise ArithmeticError("mine")
    eventually(lambda: not numbers.spark.streams.active)
    assert numbers.committed() == set()


def test_all_batches_arrive_and_the_stream_completes(numbers: Numbers) -> None:
    seen: list[int] = []

    def store(batch: ps.Batch) -> None:
        seen.append(batch.batch_id)
        threading.Thread(target=batch.ack).start()  # from any thread
        batch.ack()  # a second call does nothing

    explicit(numbers, trigger={"availableNow": True}).for_each(store, timeout=JOB_DEADLINE)
    assert seen == [0, 1, 2, 3] and numbers.committed() == {0, 1, 2, 3}


def test_a_discarded_batch_fails_the_stream(numbers: Numbers) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    explicit(numbers).map(lambda batch: batch.data).subscribe(subscriber)
    collected(lambda: subscriber.ended)
    error = subscriber.await_error(ps.BatchDiscarded, JOB_DEADLINE)
    assert isinstance(error, ps.BatchDiscarded) and error.batch_id == 0 and "batch.ack()" in str(error)
    assert subscriber.elements == [[(0,)]]
    eventually(lambda: not numbers.spark.streams.active)
    assert numbers.committed() == set()


def test_an_acknowledgement_after_completion_does_nothing(numbers: Numbers) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(1)
    explicit(numbers).subscribe(subscriber)
    (batch,) = subscriber.await_count(1, JOB_DEADLINE)
    numbers.query().stop()
    subscriber.await_complete(JOB_DEADLINE)
    batch.ack()
    assert numbers.committed() == set()


def test_a_cancel_after_an_acknowledgement_lets_spark_commit_the_batch(numbers: Numbers) -> None:
    """A query that is stopped during a commit would deliver the batch again."""
    taken = []

    def take(batch: ps.Batch) -> None:
        taken.append(batch.batch_id)
        batch.ack()

    for _ in range(3):
        explicit(numbers).do_on_next(take).take(1).collect(timeout=JOB_DEADLINE)
        eventually(lambda: not numbers.spark.streams.active)
    assert taken == [0, 1, 2]
    assert numbers.committed() == {0, 1, 2}


def test_a_cancel_lets_spark_commit_the_first_batch_after_an_idle_time(numbers: Numbers) -> None:
    """An idle query reports progress with the number of the batch that it has not begun."""

    def is_idle(batch_id: int) -> bool:
        reports = [query.lastProgress for query in numbers.spark.streams.active]
        return any(report is not None and report["batchId"] == batch_id for report in reports)

    explicit(numbers, trigger={"availableNow": True}).for_each(ps.Batch.ack, timeout=JOB_DEADLINE)
    numbers.spark.conf.set("spark.sql.streaming.noDataProgressEventInterval", 0)
    try:
        for n in range(4, 7):
            subscriber: TestSubscriber[ps.Batch] = TestSubscriber(None)
            explicit(numbers).do_on_next(ps.Batch.ack).take(1).subscribe(subscriber)
            eventually(partial(is_idle, n))
            numbers.add(n)
            subscriber.await_complete(JOB_DEADLINE)
            eventually(lambda: not numbers.spark.streams.active)
            assert subscriber.elements == [(n, [(n,)])]
            assert numbers.committed() == set(range(n + 1))
    finally:
        numbers.spark.conf.unset("spark.sql.streaming.noDataProgressEventInterval")


def test_a_batch_is_a_tuple_and_its_copies_cannot_acknowledge() -> None:
    acknowledged: list[int] = []
    query: Any = SimpleNamespace(acknowledge=acknowledged.append)
    batch = ps.Batch(3, ["row"])
    batch._query = query
    copy = pickle.loads(pickle.dumps(batch))
    copy.ack()
    assert copy == batch == (3, ["row"])
    assert acknowledged == []
    batch.ack()
    assert acknowledged == [3]
    assert repr(batch) == "Batch(batch_id=3, data=['row'])"


KILLED_DRIVER = """
import asyncio, json, os, signal, sys, time
from pathlib import Path
from pyspark.sql import SparkSession
from pyrs import spark as ps

folder, chain = Path(sys.argv[1]), sys.argv[2]
spark = (
    SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
    .getOrCreate()
)
sdf = spark.readStream.schema("n long").option("maxFilesPerTrigger", 1).json(str(folder / "source"))
batches = ps.from_stream(sdf, "tuples", folder / "checkpoint", {"availableNow": True})

def store(batch):
    if batch.batch_id == 1:
        time.sleep(2)  # without explicit acknowledgement, a prefetch would commit batches in this time
        os.killpg(os.getpgrp(), signal.SIGKILL)
    (folder / f"stored-{batch.batch_id}").write_text(json.dumps(batch.data))
    batch.ack()

async def store_later(batch):
    await asyncio.to_thread(store, batch)
    return batch.batch_id

if chain == "to_iterable":
    for batch in batches.to_iterable():
        store(batch)
else:
    batches.concat_map(store_later).for_each(lambda _: None)
"""


@pytest.mark.timeout(500)
@pytest.mark.parametrize("chain", ["to_iterable", pytest.param("concat_map", marks=pytest.mark.campaign)])
def test_a_killed_driver_loses_no_batch(numbers: Numbers, tmp_path: Path, chain: str) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_DRIVER, str(tmp_path), chain],
        start_new_session=True,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert {path.name for path in tmp_path.glob("stored-*")} == {"stored-0"}
    stored = {path.name: json.loads(path.read_text()) for path in tmp_path.glob("stored-*")}
    for batch in explicit(numbers, trigger={"availableNow": True}).to_iterable():
        stored[f"stored-{batch.batch_id}"] = [list(row) for row in batch.data]
        batch.ack()
    assert stored == {f"stored-{n}": [[n]] for n in range(4)}
