"""The offsets of stream_from_publishers, with the calls that Spark's planner makes."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql.types import StructType

pytest.importorskip("pyspark.sql.datasource", reason="PySpark 3.5 has no Python Data Sources")

from pyrs.spark.executors.offsets import Offsets, checked_offset, named_partitions
from pyrs.spark.executors.streaming import _planner
from pyrs.spark.source.reader import streaming_source

INITIAL: Any = {"first": {}, "next": {}}


def fail_to_open(partition: Any) -> Any:
    raise ValueError("no such file: caf\udce9")  # a name whose bytes are not UTF-8


def offsets(latest: Any, start: Any = 0, limit: Any = None, partitions: Any = ("a", "b")) -> Offsets:
    return Offsets(named_partitions(partitions), latest, start, limit)


def at(**ends: Any) -> Any:
    return {"first": dict.fromkeys(ends, 0), "next": ends}


def test_a_micro_batch_has_a_range_for_each_partition_with_new_elements() -> None:
    ends = {"a": 5, "b": 0}
    positions = offsets(ends.__getitem__)
    first = positions.after(INITIAL, True)
    assert positions.ranges(INITIAL, first) == [("a", 0, 5)]
    assert positions.after(first, True) == first
    ends |= {"a": 7, "b": 2}
    second = positions.after(first, True)
    assert positions.ranges(first, second) == [("a", 5, 7), ("b", 0, 2)]
    assert positions.ranges(second, second) == []


def test_a_limit_bounds_each_range() -> None:
    positions = offsets({"a": 5, "b": 2.5}.__getitem__, limit=2)
    position, ranges = INITIAL, []
    positions.after(INITIAL, True)
    assert positions.latest() == {"first": {"a": 0, "b": 0}, "next": {"a": 5, "b": 2.5}}
    while (end := positions.after(position, True)) != position:
        ranges.append([each[1:] for each in positions.ranges(position, end)])
        position = end
    assert ranges == [[(0, 2), (0, 2)], [(2, 4), (2, 2.5)], [(4, 5)]]
    assert positions.ranges(INITIAL, positions.after(INITIAL, False)) == [("a", 0, 5), ("b", 0, 2.5)]


def test_a_function_limits_offsets_that_are_not_numbers() -> None:
    days = ["2024-01-01", "2024-01-02", "2024-01-03"]
    positions = offsets(lambda p: days[-1], days[0], lambda p, start, end: days[days.index(start) + 1], ["a"])
    first = positions.after(INITIAL, True)
    second = positions.after(first, True)
    assert positions.ranges(INITIAL, first) == [("a", days[0], days[1])]
    assert positions.ranges(first, second) == [("a", days[1], days[2])]
    assert positions.after(second, True) == second


def test_available_now_reads_up_to_the_ends_at_its_start() -> None:
    ends = iter(range(5, 100))
    positions = offsets(lambda p: next(ends), limit=3, partitions=["a"])
    positions.finish()
    position = INITIAL
    for end in (3, 5, 5):
        position = positions.after(position, True)
        assert position["next"] == {"a": end}


def test_a_start_at_the_latest_offset_reads_later_elements() -> None:
    """With availableNow, the end of a growing source must not precede its start."""
    ends = iter(range(5, 100))

    def latest(partition: str) -> int:
        return next(ends)

    positions = offsets(latest, latest, partitions=["a"])
    positions.finish()
    assert positions.ranges(INITIAL, positions.after(INITIAL, True)) == [("a", 5, 6)]


def test_a_repeated_first_micro_batch_has_the_start_of_the_checkpoint() -> None:
    """Spark passes the initial offset of the new process, whose ``start`` has another result."""
    end = offsets(lambda p: 20, lambda p: 10).after(INITIAL, True)
    assert offsets(lambda p: 40, lambda p: 30).ranges(INITIAL, end) == [("a", 10, 20), ("b", 10, 20)]


def test_partitions_are_added_and_removed_between_two_runs() -> None:
    before = offsets(lambda p: 5, partitions=["a", "b"]).after(INITIAL, True)
    positions = offsets(lambda p: 8, 3, partitions=["b", "c"])
    after = positions.after(before, True)
    assert positions.ranges(before, after) == [("b", 5, 8), ("c", 3, 8)]
    again = offsets(lambda p: 9, partitions=["a", "b", "c"])
    assert again.ranges(after, again.after(after, True)) == [("a", 5, 9), ("b", 8, 9), ("c", 8, 9)]
    with pytest.raises(ValueError, match=r"partition 'a' was removed, .* its rows from 0 to 5, which must be repeated"):
        positions.ranges(INITIAL, before)


def test_spark_before_4_2_does_not_pass_the_position_after_a_restart() -> None:
    positions = offsets(lambda p: 9, limit=2, partitions=["a"])
    end = positions.after(None, True)
    assert positions.ranges(at(a=4), end) == [("a", 4, 9)]
    with pytest.raises(ValueError, match="partition 'a' went back from 12 to 9"):
        positions.ranges(at(a=12), end)


@pytest.mark.parametrize(
    ("latest", "error", "message"),
    [
        (lambda p: None, TypeError, "the result of latest for partition 'a' is None: if there is nothing to read"),
        (
            lambda p: date(2024, 1, 2),
            TypeError,
            "latest for partition 'a' must be a JSON value, not .* type date",
        ),
        (lambda p: float("nan"), TypeError, "latest for partition 'a' must be a JSON value, not nan of type float"),
        (lambda p: 2, ValueError, "the offset of partition 'a' went back from 4 to 2"),
        (lambda p: 1 // 0, RuntimeError, "latest of partition 'a' failed: ZeroDivisionError: "),
        (fail_to_open, RuntimeError, r"latest of partition 'a' failed: ValueError: no such file: caf\\udce9"),
    ],
)
def test_a_wrong_latest_offset_is_refused(latest: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        offsets(latest).after(at(a=4), True)


@pytest.mark.parametrize(
    ("limit", "error", "message"),
    [
        (5, ValueError, "limit=5 needs offsets that are numbers, but partition 'a' has 4 and 'x': pass a function"),
        (lambda p, start, end: start, ValueError, "limit of partition 'a' returned the start, 4, so the query cannot"),
        (lambda p, start, end: 3, ValueError, "limit of partition 'a' returned 3, which is not between the start, 4, "),
        (lambda p, start, end: None, TypeError, "the result of limit for partition 'a' is None"),
        (lambda p: 3, RuntimeError, r"limit of partition 'a' failed: TypeError: .* takes 1 positional argument"),
    ],
)
def test_a_wrong_limit_is_refused(limit: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        offsets(lambda p: "x", limit=limit).after(at(a=4), True)
    with pytest.raises(ValueError, match="'a' returned 11, which is not between the start, 4, and the end, 10"):
        offsets(lambda p: 10, limit=lambda p, start, end: 11).after(at(a=4), True)


def test_a_checkpoint_of_another_source_is_refused() -> None:
    positions = offsets(lambda p: 9)
    with pytest.raises(ValueError, match=r"the checkpoint belongs to another source: its offset is {\"sequence\": 3}"):
        positions.after({"sequence": 3}, True)  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="the checkpoint belongs to another source: its offset is 3"):
        positions.after(3, True)  # type: ignore[arg-type]


def source_of(functions: dict[str, Any]) -> Any:
    sent = {name: cloudpickle.dumps(function) for name, function in functions.items()}
    source = streaming_source("name", StructType(), _planner({"1": 1}, sent), lambda part: iter([part]))({})
    return cloudpickle.loads(cloudpickle.dumps(source))


def test_a_pickled_reader_plans_and_reads_ranges() -> None:
    limits = pytest.importorskip("pyspark.sql.streaming.datasource", reason="needs Spark 4.2, which passes limits")
    functions = {"latest": lambda partition: 5, "start": 0, "limit": 3}
    reader = source_of(functions).streamReader(None)
    assert reader.initialOffset() == INITIAL
    assert reader.reportLatestOffset() is None
    first = reader.latestOffset(INITIAL, reader.getDefaultReadLimit())
    assert reader.reportLatestOffset()["next"] == {"1": 5}
    assert [part.value for part in reader.partitions(INITIAL, first)] == [(1, 0, 3)]
    assert reader.latestOffset()["next"] == {"1": 5}  # Spark before 4.2 passes no arguments
    everything = reader.latestOffset(INITIAL, limits.ReadAllAvailable())
    (part,) = reader.partitions(INITIAL, everything)
    assert list(cloudpickle.loads(cloudpickle.dumps(reader.read))(part)) == [(1, 0, 5)]


def test_the_initial_offset_may_be_requested_after_the_first_micro_batch() -> None:
    """Spark before 4.2 does so in a query with a new checkpoint."""
    ends = iter([9, 12])
    functions = {"latest": lambda partition: next(ends), "start": 0, "limit": 2}
    reader = source_of(functions).streamReader(None)
    assert reader.latestOffset()["next"] == {"1": 9}
    assert reader.initialOffset() == INITIAL
    assert reader.latestOffset()["next"] == {"1": 11}


def test_partitions_are_named_by_their_json() -> None:
    values = ["a", 1, 2.5, ("x", 1), {"table": "t"}]
    assert named_partitions(values) == dict(zip(["a", "1", "2.5", '["x", 1]', '{"table": "t"}'], values, strict=True))
    with pytest.raises(TypeError, match="the value 1 of partitions must be a string or another JSON value"):
        named_partitions(["a", object()])
    with pytest.raises(ValueError, match="partitions must be distinct, but '1' occurs twice"):
        named_partitions([1, "1"])


def test_a_tuple_in_an_offset_becomes_a_list_as_in_the_checkpoint() -> None:
    assert checked_offset(("2024-01-01", 7), "start") == ["2024-01-01", 7]
