"""apply_by_key: state across micro-batches and restarts, timers, errors and refused arguments."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest

import pyrs
from pyrs import spark as ps
from pyrs.spark.executors import shipping
from pyrs.spark.keyed.operators import PROTOBUF, _processor
from tests.spark.jobs import JOB_DEADLINE
from tests.spark.keyed_events import EVENTS, RESULT, ROCKSDB, expected, run, sort_rows, stored, totals, write_events
from tests.spark.versions import needs_pyspark
from tests.waiting import eventually

pytest.importorskip("pandas")  # ps.supports requires it
needs_state = needs_pyspark(4, 1, "transformWithState of rows")


def events_of(spark: Any, folder: Path) -> Any:
    folder.mkdir(exist_ok=True)
    return spark.readStream.schema(EVENTS).option("maxFilesPerTrigger", 1).json(str(folder))


@needs_state
@pytest.mark.slow
def test_state_continues_across_micro_batches_and_restarts(rocksdb: Any, tmp_path: Path) -> None:
    write_events(tmp_path / "events", count=60, files=3, users=2, values=40)
    held_back = tmp_path / "events" / "0002.json"
    held_back.rename(tmp_path / "0002.json")
    run(rocksdb, tmp_path / "events", tmp_path / "stored")
    (tmp_path / "0002.json").rename(held_back)
    run(rocksdb, tmp_path / "events", tmp_path / "stored")
    assert stored(tmp_path / "stored") == expected(tmp_path / "events") != []
    with pytest.raises(Exception, match=r"the checkpoint has the state of distinct\(.* the stage now has scan\("):
        write_more = tmp_path / "events" / "0003.json"
        write_more.write_text('{"user": "user 0", "value": 1}\n')
        run(rocksdb, tmp_path / "events", tmp_path / "stored", lambda rows: rows.scan(lambda total, row: row))


@needs_state
@pytest.mark.slow
def test_a_timer_emits_without_further_rows(rocksdb: Any, tmp_path: Path) -> None:
    write_events(tmp_path / "events", count=9, files=1, users=2, values=40)
    found: list[Any] = []

    def last(rows: pyrs.Stream[Any]) -> pyrs.Stream[Any]:
        return rows.debounce(0.5).with_index().map(lambda each: (each[1].user, each[0], [each[1].value]))

    df = ps.apply_by_key(events_of(rocksdb, tmp_path / "events"), "user", last, RESULT)
    writer = df.writeStream.foreachBatch(lambda df, _: found.extend(df.collect()))
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        eventually(lambda: len(found) == 2 or query.exception(), seconds=JOB_DEADLINE)
    finally:
        query.stop()
    assert query.exception() is None
    events = map(json.loads, (tmp_path / "events" / "0000.json").read_text().splitlines())
    latest = {event["user"]: event["value"] for event in events}
    assert sort_rows(found) == sorted([user, 0, [value]] for user, value in latest.items())


@needs_state
@pytest.mark.slow
def test_keys_may_have_times_that_clocks_show_alike_and_any_name(rocksdb: Any, tmp_path: Path) -> None:
    settings = {"spark.sql.session.timeZone": "America/New_York", "spark.sql.shuffle.partitions": "1"}
    before = {name: rocksdb.conf.get(name) for name in settings}
    times = ["2024-11-03T05:30:00Z", "2024-11-03T06:30:00Z"]  # 1:30, before and after clocks are set back
    locals_ = ["2024-11-03T01:30:00.000001", "2024-11-03T01:30:00.000002"]
    lines = [
        json.dumps({"at": time, "span": {"end": time}, "both": {"at": times[0], "local": local}, "the user": "u"})
        for time, local in [*zip(times, locals_, strict=True)] * 2
    ]
    (tmp_path / "events.json").write_text("\n".join(lines))
    schema = (
        "at timestamp, span struct<end timestamp>, both struct<at timestamp, local timestamp_ntz>, `the user` string"
    )
    found: list[Any] = []

    def counted(rows: pyrs.Stream[Any]) -> pyrs.Stream[Any]:
        return rows.with_index(1).map(lambda each: each[:1])

    try:
        for name, value in settings.items():
            rocksdb.conf.set(name, value)
        for key in ("at", ["span", "the user"], "both", "the user"):
            events = rocksdb.readStream.schema(schema).json(str(tmp_path / "*.json"))
            writer = ps.apply_by_key(events, key, counted, "count long").writeStream
            writer = writer.foreachBatch(lambda df, _: found.append(sorted(row[0] for row in df.collect())))
            writer.trigger(availableNow=True).start().awaitTermination()
    finally:
        for name, value in before.items():
            rocksdb.conf.set(name, value)
    assert found == [[1, 1, 2, 2]] * 3 + [[1, 2, 3, 4]]


@needs_state
@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda row: row.value // 0, r"PartitionFailed: partition \d+: key 'user 0': ZeroDivisionError"),
        (
            lambda row: (row.user, 0, [row.user]),
            r"key 'user 0': SchemaMisfit: element 0, .*'totals.element' is of type",
        ),
    ],
)
def test_an_error_names_the_key(rocksdb: Any, tmp_path: Path, function: Any, message: str) -> None:
    write_events(tmp_path / "events", count=2, files=1, users=1, values=40)
    with pytest.raises(Exception, match=message):
        run(rocksdb, tmp_path / "events", tmp_path / "stored", lambda rows: rows.map(function))


@needs_state
def test_arguments_are_validated(rocksdb: Any, tmp_path: Path) -> None:
    df = events_of(rocksdb, tmp_path / "events")
    arguments: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"key": 3}, TypeError, "key must be the name of a column, or a list of names, not int"),
        ({"key": [3]}, TypeError, "key must contain names of columns, not int"),
        ({"key": []}, ValueError, "key must name at least one column"),
        ({"key": ["user", "user"]}, ValueError, "key must have distinct columns, but has 'user' more than once"),
        ({"key": "customer"}, ValueError, "df has no column 'customer': its columns are value, user"),
        ({"stage": 3}, TypeError, "stage must be callable"),
        ({"stage": lambda rows: rows.sample(1)}, TypeError, r"the state of sample\(1\): the operator does not"),
        ({"as_": "arrow"}, ValueError, "as_ must be one of 'rows', 'tuples', 'dicts', not 'arrow'"),
        ({"df": rocksdb.sql("select '' as user, 1L as value")}, ValueError, "df is not streaming"),
        ({"df": df.withColumnRenamed("value", "a.b")}, ValueError, "df has a column 'a.b', .* takes for a field"),
        ({"df": 3}, TypeError, "df must be a DataFrame"),
        ({"schema": "n long, n long"}, ValueError, "distinct names"),
    ]
    for given, kind, message in arguments:
        with pytest.raises(kind, match=message):
            ps.apply_by_key(**{"df": df, "key": "user", "stage": totals, "schema": RESULT, **given})


@needs_state
def test_a_state_store_other_than_rocksdb_is_refused(rocksdb: Any, tmp_path: Path) -> None:
    rocksdb.conf.set(ROCKSDB[0], ROCKSDB[1].replace("RocksDB", "HDFSBacked"))
    df = events_of(rocksdb, tmp_path / "events")
    with pytest.raises(ValueError, match=r'needs Spark.s RocksDB state store: spark.conf.set\("spark'):
        ps.apply_by_key(df, "user", totals, RESULT)
    assert ps.supports(rocksdb)["apply_by_key"].startswith("no: apply_by_key needs Spark's RocksDB state store")


@needs_state
def test_a_driver_without_protobuf_is_refused(rocksdb: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    df = events_of(rocksdb, tmp_path / "events")
    monkeypatch.setitem(sys.modules, "pyspark.sql.streaming.proto.StateMessage_pb2", None)
    with pytest.raises(ImportError, match=r"needs protobuf, in version 6\.33\.5 or later, in the driver and"):
        ps.apply_by_key(df, "user", totals, RESULT)
    assert ps.supports(rocksdb)["apply_by_key"].startswith("no: apply_by_key needs protobuf")


@needs_state
def test_an_executor_without_protobuf_is_reported(rocksdb: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def requirement(*names: str) -> Callable[[], None]:
        def check() -> None:
            if PROTOBUF in names:
                raise ImportError("this executor has no protobuf")

        return check

    monkeypatch.setattr(shipping, "_answers", WeakKeyDictionary())
    monkeypatch.setattr(shipping, "requirement", requirement)
    answers = ps.supports(rocksdb)
    assert answers["apply"] == "ok"
    assert answers["apply_by_key"] == "no: this executor has no protobuf"


@needs_state
def test_a_task_without_protobuf_reports_it_before_spark_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    processor = _processor(b"")
    monkeypatch.setitem(sys.modules, PROTOBUF, None)
    with pytest.raises(ImportError, match=r"the executor's Python, .* cannot import google\.protobuf"):
        processor.init(None)


@needs_state
@pytest.mark.slow
@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_a_million_events_equal_the_stage_in_the_driver_after_kills(tmp_path: Path) -> None:
    write_events(tmp_path / "events", count=1_000_000, files=12, users=500, values=3_000)
    for kill_at in (2, 3, 7):
        command = [sys.executable, "-m", "tests.spark.keyed_events", str(tmp_path), str(kill_at)]
        assert subprocess.run(command, start_new_session=True, check=False).returncode == -signal.SIGKILL
        assert len(list((tmp_path / "stored").glob("*.json"))) == kill_at
    subprocess.run([*command[:-1], "-1"], start_new_session=True, check=True)
    assert stored(tmp_path / "stored") == expected(tmp_path / "events")
