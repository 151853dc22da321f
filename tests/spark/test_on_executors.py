"""Tasks on an executor, in this process or in a worker: imports, tracebacks, and when batches are sent."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql.types import LongType, StructType

import pyrs
from pyrs import spark as ps
from pyrs.spark.executors import shipping
from pyrs.spark.executors.operators import task_of
from pyrs.spark.executors.pickling import packed
from pyrs.spark.executors.tasks import Output, StageTask
from pyrs.spark.schema.arrow import checked_shape
from pyrs.spark.schema.rows import RowEncoder

A_LOCK = RLock()
SCHEMA = StructType().add("n", LongType())


def test_an_interrupt_of_ship_cancels_its_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled: list[bool] = []

    class Interrupted:
        def __init__(self, spark: Any) -> None:
            pass

        def submit(self, task: Any) -> None:
            raise KeyboardInterrupt

        def cancel(self) -> None:
            cancelled.append(True)

    monkeypatch.setattr(shipping, "Jobs", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        shipping._answer(None, ["pyrs"], 1)
    assert cancelled == [True]


def staged(stage: Any) -> StageTask:
    return StageTask(stage, False, checked_shape("tuples", SCHEMA, "UTC"), Output(RowEncoder(SCHEMA), "UTC", 10_000))


WITHOUT_PYRS = """
import pickle, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyrs":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
task = pickle.load(open(sys.argv[1], "rb"))
try:
    list(task(iter(())))
except ImportError as error:
    print(error)
"""


def test_an_executor_without_pyrs_reports_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "task"
    file.write_bytes(cloudpickle.dumps(task_of(packed(staged(lambda rows: rows), None, "stage", None))))
    done = subprocess.run([sys.executable, "-c", WITHOUT_PYRS, str(file)], capture_output=True, text=True, timeout=100)
    assert f"the executor's Python, {sys.executable}, cannot import pyrs" in done.stdout, done.stderr
    assert "ps.ship(spark) sends the package" in done.stdout and "PYSPARK_PYTHON" in done.stdout


def test_an_executor_with_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of(packed(staged(lambda rows: rows), None, "stage", None))
    monkeypatch.setattr(pyrs, "__version__", "0.0.1")
    with pytest.raises(ImportError, match=r"has pyrs 0\.0\.1, but the driver has"):
        list(task(iter(())))


def missing_package() -> None:
    raise ImportError("the executor's Python cannot import pyrs")


def test_supports_reports_that_executors_cannot_import_pyrs(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shipping._answers.clear()
    monkeypatch.setattr(shipping, "requirement", lambda *_: missing_package)
    try:
        answers = ps.supports(spark)
    finally:
        shipping._answers.clear()
    for name in ("apply", "for_each_partition"):
        assert answers[name] == "no: the executor's Python cannot import pyrs"
    assert answers["from_dataframe"] == "ok"


def test_a_captured_object_that_cannot_be_sent_is_named() -> None:
    lock, number = RLock(), 3

    class Uploader:
        def __init__(self) -> None:
            self.lock = lock

        def __call__(self) -> Any:
            return self.lock

    def stage(rows: Any) -> Any:
        return rows.map(lambda row: (number, lock))

    with pytest.raises(TypeError, match="stage cannot be sent to the executors: it captures 'lock', a RLock"):
        packed(staged(stage), stage, "stage", None)
    uploader = Uploader()
    with pytest.raises(TypeError, match="stage cannot be sent to the executors: it, or a value that it captures"):
        packed(staged(uploader), uploader, "stage", None)


def test_arguments_of_a_partial_and_defaults_that_cannot_be_sent_are_named() -> None:
    lock = RLock()

    def bound(guard: Any, rows: Any, other: Any = None) -> Any:
        return rows

    def with_default(rows: Any, guard: Any = lock) -> Any:
        return rows

    for stage in (partial(bound, lock), partial(bound, guard=lock), with_default, partial(with_default, guard=lock)):
        with pytest.raises(TypeError, match="stage cannot be sent to the executors: it captures 'guard', a RLock"):
            packed(staged(stage), stage, "stage", None)
    stage = partial(bound, 1, other=lock)
    with pytest.raises(TypeError, match="stage cannot be sent to the executors: it captures 'other', a RLock"):
        packed(staged(stage), stage, "stage", None)


def uses_a_global(rows: Any) -> Any:
    return rows.map(lambda row: (A_LOCK, row))


def test_a_global_of_an_inner_function_is_named() -> None:
    uses_a_global.__module__ = "__main__"  # pickled by value, like a function of a notebook
    with pytest.raises(TypeError, match="stage cannot be sent to the executors: it captures 'A_LOCK', a RLock"):
        packed(staged(uses_a_global), uses_a_global, "stage", None)


def test_a_captured_bridge_is_named(spark: Any) -> None:
    bridge = ps.attach(spark)
    with pytest.raises(TypeError, match="stage cannot be sent to the executors: it captures 'bridge', a Bridge"):
        ps.apply(spark.range(1), lambda rows: rows.map(lambda row: bridge.closed), "closed boolean")
    bridge.close()


def test_metrics_count_the_elements_of_all_tasks(spark: Any) -> None:
    incoming, outgoing = pyrs.Metrics("incoming"), pyrs.Metrics("outgoing")

    def even(rows: Any) -> Any:
        return rows.metrics(incoming).filter(lambda row: row.id % 2 == 0).map(lambda row: (row.id,)).metrics(outgoing)

    assert len(ps.apply(spark.range(0, 100, 1, 4), even, "id long").collect()) == 50
    assert (incoming.subscribed, incoming.elements, incoming.completed, incoming.active) == (4, 100, 4, 0)
    assert (outgoing.elements, outgoing.demand) == (50, 0)


def failing(row: Any) -> Any:
    raise ArithmeticError("on this line")


def test_an_error_shows_the_line_of_the_user(spark: Any) -> None:
    """Spark drops the cause of an error in a worker by default, so the error itself must show the line."""
    with pytest.raises(Exception, match="PartitionFailed: partition 0: ArithmeticError: on this line") as caught:
        ps.apply(spark.range(0, 2, 1, 1), lambda rows: rows.map(failing), "id long").collect()
    assert 'raise ArithmeticError("on this line")' in str(caught.value) and __file__ in str(caught.value)

    def subscriber() -> Any:
        return pyrs.testing.TestSubscriber(None, on_element=lambda _, element: failing(element))

    with pytest.raises(ps.PartitionFailed) as failed:
        ps.for_each_partition(spark.range(0, 2, 1, 1), subscriber).block(timeout=100)
    assert 'raise ArithmeticError("on this line")' in str(failed.value.__cause__)


def test_rows_of_a_slow_stage_are_sent_before_a_batch_is_full() -> None:
    def slow(row: Any) -> Any:
        time.sleep(0.01)
        return row

    def batches() -> Iterator[Any]:
        yield RowEncoder(SCHEMA).batch([(n,) for n in range(1000)])

    emitted = staged(lambda rows: rows.map(slow)).run(0, batches())
    started = time.monotonic()
    first = next(emitted)
    assert 1 <= first.num_rows < 100
    assert time.monotonic() - started < 5
    emitted.close()  # type: ignore[attr-defined]


def slow(row: Any) -> Any:
    time.sleep(0.01)
    return (row.id,)


def test_a_limit_does_not_wait_until_the_worker_has_written_64_kib(spark: Any) -> None:
    started = time.monotonic()
    limited = ps.apply(spark.range(0, 100_000, 1, 1), lambda rows: rows.map(slow), "id long").limit(5)
    assert [row.id for row in limited.collect()] == [0, 1, 2, 3, 4]
    assert time.monotonic() - started < 20
