"""The tasks of apply_by_key with a state store in memory: values, timers and errors."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from pickle import loads
from typing import Any

import pyarrow
import pytest
from pyspark import cloudpickle
from pyspark.sql import Row
from pyspark.sql import types as spark_types

from pyrs.spark.executors.pickling import packed
from pyrs.spark.keyed.operators import _processor
from pyrs.spark.keyed.tasks import KeyedTask, KeyedWork
from pyrs.spark.read.partitions import PartitionFailed
from pyrs.spark.schema.arrow import arrow_schema, checked_shape
from pyrs.spark.schema.rows import RowEncoder

ONE = spark_types.StructType().add("n", "long")
INNER = spark_types.StructType().add("x", "long").add("at", "timestamp")
EVERYTHING = (
    spark_types.StructType()
    .add("user", "string")
    .add("at", "timestamp")
    .add("local", "timestamp_ntz")
    .add("day", "date")
    .add("price", "decimal(10,2)")
    .add("raw", "binary")
    .add("inner", INNER)
    .add("items", spark_types.ArrayType(INNER))
    .add("named", spark_types.MapType(spark_types.StringType(), INNER))
    .add("duration", spark_types.DayTimeIntervalType())
)
AT = datetime.datetime(2024, 2, 29, 1, 2, 3, 4)
X = Row(x=1, at=AT)
ROWS = [
    Row(
        user="u", at=AT, local=AT, day=AT.date(), price=Decimal("1.50"), raw=b"\0", inner=X, items=[X, None],
        named={"k": X}, duration=datetime.timedelta(1, 2, 3),
    ),
    Row(**dict.fromkeys(EVERYTHING.names)),
]  # fmt: skip


class Store:
    """A test double of Spark's handle of a processor, and of the stored value of one key."""

    def __init__(self) -> None:
        self.value: Any = None
        self.timers: set[int] = set()
        self.updates = 0

    def get(self) -> Any:
        return self.value

    def update(self, value: Any) -> None:
        self.value = value
        self.updates += 1

    def registerTimer(self, time: int) -> None:
        self.timers.add(time)

    def deleteTimer(self, time: int) -> None:
        self.timers.remove(time)


def opened(store: Store, stage: Callable[[Any], Any], schema: Any) -> KeyedTask:
    shape = checked_shape("rows", schema, "UTC")
    work = KeyedWork(stage, shape, arrow_schema(schema, False), RowEncoder(schema))
    return KeyedTask(packed(work, stage, "stage", None), store, store)


def test_rows_have_the_values_of_collect_in_both_directions() -> None:
    def same(rows: Any) -> Any:
        return rows.do_on_next(check).map(tuple)

    def check(row: Any) -> None:
        assert row in ROWS

    batch = RowEncoder(EVERYTHING).batch(ROWS)
    given = [Row(**dict(reversed(values.items()))) for values in batch.to_pylist()]  # Spark may reorder the columns
    task = opened(Store(), same, EVERYTHING)
    emitted = [row.asDict(True) for row in task.run(("u",), iter(given), -1)]
    assert pyarrow.RecordBatch.from_pylist(emitted, schema=batch.schema) == batch
    task.close()


def test_columns_may_have_the_names_of_parameters() -> None:
    schema = spark_types.StructType().add("cls", "long").add("self", "long")
    (row,) = opened(Store(), lambda rows: rows, schema).run(("u",), iter([Row("cls", "self")(1, 2)]), -1)
    assert row.asDict() == {"cls": 1, "self": 2}


def test_the_processor_runs_with_the_interface_of_spark() -> None:
    tester = pytest.importorskip("pyspark.sql.streaming.tws_tester", reason="needs the TwsTester of PySpark 4.2")

    def processor(stage: Callable[[Any], Any]) -> Any:
        work = KeyedWork(stage, checked_shape("rows", ONE, "UTC"), arrow_schema(ONE, False), RowEncoder(ONE))
        return loads(cloudpickle.dumps(_processor(packed(work, stage, "stage", None))))

    spark = tester.TwsTester(processor(lambda rows: rows.distinct().with_index().map(lambda pair: pair[:1])))
    for key in ("u", "v"):
        assert spark.test(key, [Row(n=7), Row(n=7), Row(n=8)]) == [Row(n=0), Row(n=1)]
        assert spark.test(key, [Row(n=8), Row(n=9)]) == [Row(n=2)]
    spark = tester.TwsTester(processor(lambda rows: rows.debounce(5)), timeMode="ProcessingTime")
    spark.setProcessingTime(10_000)
    assert spark.test("u", [Row(n=1), Row(n=2)]) == []
    assert (spark.setProcessingTime(14_999), spark.setProcessingTime(15_001)) == ([], [Row(n=2)])


def test_one_timer_is_registered_for_a_key() -> None:
    store = Store()

    def run(rows: list[int], now: int, fired: int | None = None) -> list[int]:
        task = opened(store, lambda rows: rows.debounce(5), ONE)  # as in another process
        return [row.n for row in task.run(("u",), iter([Row(n=n) for n in rows]), now, fired)]

    assert (run([1], 10_000), store.timers) == ([], {15_000})
    assert (run([2], 12_000), store.timers) == ([], {15_000})
    store.timers.clear()  # Spark removes a timer that has fired
    assert (run([], 15_500, fired=15_000), store.timers) == ([], {17_000})
    assert (run([3], 18_000), store.timers) == ([2], {23_000}), "the overdue timer did not fire before the row"
    store.timers.clear()
    assert (run([], 24_000, fired=23_000), store.timers) == ([3], set())
    assert (run([4], 30_000), store.timers) == ([], {35_000})


def test_unchanged_state_is_not_written() -> None:
    store = Store()
    tasks = [opened(store, lambda rows: rows.distinct(), ONE) for _ in range(3)]
    emitted = [list(task.run(("u",), iter([Row(n=1)]), -1)) for task in tasks]
    assert (emitted, store.updates) == ([[Row(n=1)], [], []], 1)


def test_an_error_has_the_partition_and_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    context = type("Context", (), {"partitionId": lambda _: 2})()
    monkeypatch.setattr("pyrs.spark.keyed.tasks.TaskContext.get", lambda: context)
    store = Store()
    for stage, key, message in [
        (lambda rows: rows.map(lambda row: row.n // 0), ("u",), "partition 2: key 'u': ZeroDivisionError: "),
        (lambda rows: rows.map(lambda row: ("",)), ("u", 1), r"partition 2: key \('u', 1\): SchemaMisfit: element 0"),
    ]:
        with pytest.raises(PartitionFailed, match=message):
            list(opened(store, stage, ONE).run(key, iter([Row(n=1)]), -1))
    assert store.value is None, "the state of a failed batch was written"
