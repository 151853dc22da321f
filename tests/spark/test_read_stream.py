"""read_stream in a session: queries, their termination, and refused arguments."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark.sql.datasource", reason="PySpark 3.5 has no Python Data Sources")

import pyarrow

import pyrs
from pyrs import spark as ps
from pyrs.spark.source import publishers
from pyrs.spark.source.journal import Journal
from pyrs.testing import TestPublisher
from tests.spark.test_events_and_support import EndedJvm
from tests.spark.versions import needs_pyspark
from tests.waiting import DEADLINE, eventually


class Sink:
    """Queries that store the rows of each batch in a dict."""

    def __init__(self, folder: Path) -> None:
        self.checkpoint = str(folder / "checkpoint")
        self.batches: dict[int, list[Any]] = {}
        self.query: Any = None

    def start(self, df: Any, **trigger: Any) -> Any:
        writer = df.writeStream.foreachBatch(self._write).option("checkpointLocation", self.checkpoint)
        self.query = writer.trigger(**(trigger or {"processingTime": "0 seconds"})).start()
        return self.query

    def _write(self, df: Any, batch_id: int) -> None:
        self.batches[batch_id] = [tuple(row) for row in df.collect()]

    @property
    def rows(self) -> list[Any]:
        return [row for batch_id in sorted(self.batches) for row in self.batches[batch_id]]

    def await_rows(self, count: int) -> list[Any]:
        def have_arrived() -> bool:
            error = self.query.exception()
            if error is not None:
                raise error
            return len(self.rows) >= count

        eventually(have_arrived, seconds=90)
        return self.rows


@pytest.fixture
def sink(spark: Any, tmp_path: Path) -> Iterator[Sink]:
    yield Sink(tmp_path)
    for query in spark.streams.active:
        query.stop()


def test_a_query_requests_as_many_elements_as_it_has_committed(spark: Any, sink: Sink) -> None:
    publisher: TestPublisher[Any] = TestPublisher(timeout=DEADLINE)
    df = ps.read_stream(spark, publisher, "n long, name string", max_rows=2)
    assert df.isStreaming and df.columns == ["n", "name"]
    sink.start(df)
    publisher.await_requested(4, 90).next((0, "a"), {"n": 1}, (2, "c"))
    assert sink.await_rows(3) == [(0, "a"), (1, None), (2, "c")]
    publisher.await_requested(5).next((3, "d"), (4, "e"))
    assert sink.await_rows(5)[3:] == [(3, "d"), (4, "e")]
    assert all(len(rows) <= 2 for rows in sink.batches.values())
    sink.query.stop()
    publisher.assert_not_cancelled()


def test_every_type_arrives_unchanged(spark: Any, sink: Sink) -> None:
    row = (
        True,
        3,
        1.5,
        "text",
        b"bytes",
        datetime.date(2024, 5, 6),
        datetime.datetime(2024, 5, 6, 7, 8, 9),
        [1, None],
        {"key": 1},
        (1, "inner"),
        None,
    )
    schema = (
        "flag boolean, i int, d double, s string, b binary, day date, at timestamp, list array<int>, "
        "map map<string, int>, struct struct<x: int, y: string>, nothing int"
    )
    sink.start(ps.read_stream(spark, pyrs.just(row), schema))
    ((*values, struct, nothing),) = sink.await_rows(1)
    assert (*values, tuple(struct), nothing) == row


def test_the_minimum_capacity_does_not_block(spark: Any, sink: Sink) -> None:
    numbers = pyrs.range(5).map(lambda n: (n,))
    sink.start(ps.read_stream(spark, numbers, "n long", max_rows=1, capacity=2))
    assert sink.await_rows(5) == [(n,) for n in range(5)]


def test_arrow_batches_are_accepted_as_elements(spark: Any, sink: Sink) -> None:
    batches = pyrs.range(6).map(lambda n: pyarrow.RecordBatch.from_pydict({"s": [str(n)] * 5, "n": [n] * 5}))
    sink.start(ps.read_stream(spark, batches, "n int, s string", max_rows=7, capacity=2, as_="arrow"))
    assert sink.await_rows(30) == [(n, str(n)) for n in range(6) for _ in range(5)]
    assert all(len(rows) <= 7 for rows in sink.batches.values())


@needs_pyspark(4, 2, "with availableNow, earlier versions read one batch")
def test_available_now_reads_until_the_publisher_completes(spark: Any, sink: Sink) -> None:
    publisher: TestPublisher[Any] = TestPublisher(cold=True, timeout=DEADLINE)
    query = sink.start(ps.read_stream(spark, publisher, "n long", max_rows=2), availableNow=True)
    publisher.await_subscribers(1, 90)
    publisher.next((0,), (1,), (2,))
    assert sink.await_rows(3) == [(0,), (1,), (2,)]
    assert query.isActive
    publisher.emit((3,))
    assert query.awaitTermination(60)
    assert sink.rows == [(n,) for n in range(4)]


@needs_pyspark(4, 2, "with availableNow, earlier versions read one batch")
def test_a_stop_does_not_wait_for_an_element(spark: Any, sink: Sink) -> None:
    publisher: TestPublisher[Any] = TestPublisher(timeout=DEADLINE)
    query = sink.start(ps.read_stream(spark, publisher, "n long"), availableNow=True)
    publisher.await_subscribers(1, 90)
    query.stop()
    assert query.exception() is None
    publisher.assert_not_cancelled()


def test_an_error_of_the_publisher_fails_the_query_after_its_rows(spark: Any, sink: Sink) -> None:
    publisher: TestPublisher[Any] = TestPublisher(cold=True, timeout=DEADLINE)
    query = sink.start(ps.read_stream(spark, publisher, "n long"))
    publisher.next((0,), (1,)).error(KeyError("the feed is gone"))
    with pytest.raises(Exception, match=r"KeyError.*the feed is gone"):
        query.awaitTermination(90)
    assert sink.rows == [(0,), (1,)]


def test_a_misfit_fails_the_query_after_the_rows_before_it(spark: Any, sink: Sink) -> None:
    elements = pyrs.just((0, "a"), (1, 2))
    query = sink.start(ps.read_stream(spark, elements, "n long, name string"))
    with pytest.raises(Exception, match=r"element 1, \(1, 2\): field 'name' is of type string, but 2 is of type int"):
        query.awaitTermination(90)
    assert sink.rows == [(0, "a")]


def test_the_checkpoint_of_an_ended_process_is_refused(spark: Any, sink: Sink) -> None:
    sink.start(ps.read_stream(spark, pyrs.just((0,), (1,)), "n long"))
    eventually(lambda: sum(progress["numInputRows"] for progress in sink.query.recentProgress) == 2, seconds=90)
    sink.query.stop()
    # An unknown epoch means another process.
    query = sink.start(ps.read_stream(spark, pyrs.just((0,), (1,)), "n long"))
    with pytest.raises(Exception, match=r"OffsetRefused: .*of a publisher whose process has ended"):
        query.awaitTermination(90)
    sink.start(ps.read_stream(spark, pyrs.just((7,), (8,)), "n long", on_restart="new-epoch"))
    sink.await_rows(4)
    assert sink.rows[-2:] == [(7,), (8,)]


def test_a_jvm_publisher_is_a_source(spark: Any, sink: Sink) -> None:
    with ps.attach(spark) as bridge:
        java = spark._jvm.java.util.concurrent.SubmissionPublisher()
        rows = bridge.from_jvm(java, hot=True).map(lambda n: (n,))
        sink.start(ps.read_stream(spark, rows, "n long", max_rows=30))
        eventually(java.hasSubscribers, seconds=90)
        for n in range(100):
            java.submit(n)
        assert sink.await_rows(100) == [(n,) for n in range(100)]
        sink.query.stop()
        java.close()


def test_large_arrow_types_do_not_change_the_values(spark: Any, sink: Sink) -> None:
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        sink.start(ps.read_stream(spark, pyrs.just(("text", b"bytes")), "s string, b binary"))
        assert sink.await_rows(1) == [("text", b"bytes")]
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_the_token_is_in_no_command_line_and_no_environment(
    spark: Any, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Plain(publishers.Server):
        """Has a token of text, which a command line or an environment could contain."""

        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.token = token

    token = os.urandom(16).hex().encode()
    monkeypatch.setattr(publishers, "Server", Plain)
    sink.start(ps.read_stream(spark, pyrs.just((1,)), "n long"))
    sink.await_rows(1)
    seen = 0
    for path in (*Path("/proc").glob("[0-9]*/environ"), *Path("/proc").glob("[0-9]*/cmdline")):
        try:
            data = path.read_bytes()
        except OSError:  # another user's process, or an ended one
            continue
        seen += b"pyspark" in data
        assert token not in data and token.hex().encode() not in data, path
    assert seen


def test_an_unused_journal_moves_to_the_next_read_stream(
    spark: Any, sink: Sink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishers, "_PLANNER_SECONDS", 0.1)
    publisher: TestPublisher[Any] = TestPublisher(cold=True, timeout=DEADLINE)
    publisher.next((0,), (1,))

    def read(schema: str = "n long") -> Any:
        return ps.read_stream(spark, publisher, schema, journal=tmp_path / "journal")

    sink.start(read())
    sink.await_rows(2)
    with pytest.raises(ps.JournalDamaged, match="in use"):
        read()
    sink.query.stop()
    monkeypatch.undo()
    for schema, found in [("name string", "name string"), ("n int", "n int32"), ("n long, m long", None)]:
        text = f"n int64, not {found}" if found else "no column, not m int64"
        with pytest.raises(ps.JournalDamaged, match=f"the journal has rows of another schema: {text}"):
            read(schema)
    publisher.await_cancelled()
    sink.start(read())
    assert sink.await_rows(4) == [(0,), (1,), (0,), (1,)]


def test_a_jvm_that_ends_closes_the_server(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ps.read_stream(spark, TestPublisher(), "n long", journal=tmp_path / "journal")
    server = publishers._servers[tmp_path / "journal"]
    monkeypatch.setattr(spark.sparkContext, "_jsc", EndedJvm())
    server._thread.join(DEADLINE)
    assert not server._thread.is_alive()


def test_a_read_stream_that_spark_refuses_releases_everything(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers: list[publishers.Server] = []

    class RecordedServer(publishers.Server):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            servers.append(self)

    def refuse(name: str, *arguments: Any) -> Any:
        raise PermissionError("no data sources here")

    monkeypatch.setattr(publishers, "Server", RecordedServer)
    monkeypatch.setattr(publishers, "reader_source", refuse)
    with pytest.raises(PermissionError, match="no data sources here"):
        ps.read_stream(spark, pyrs.empty(), "n long", journal=tmp_path / "journal")
    assert not servers[0]._thread.is_alive() and servers[0]._listener.fileno() == -1
    Journal(tmp_path / "journal").close()


def test_large_batches_are_divided_among_tasks(spark: Any, sink: Sink) -> None:
    batch = pyarrow.RecordBatch.from_pydict(
        {"n": range(30_000)}
    )  # one element, because batches of slow rows would be small
    df = ps.read_stream(spark, pyrs.just(batch), "n long", max_rows=30_000, as_="arrow")
    df = df.selectExpr("n", "spark_partition_id() as part")
    sink.start(df)
    rows_and_parts = sink.await_rows(30_000)
    assert [n for n, _ in rows_and_parts] == list(range(30_000))
    assert max(part for _, part in rows_and_parts) > 0


def test_wrong_arguments_raise(spark: Any) -> None:
    def read(publisher: Any = pyrs.empty(), schema: Any = "n long", **options: Any) -> Any:  # noqa: B008
        return ps.read_stream(spark, publisher, schema, **options)

    with pytest.raises(TypeError, match="spark must be a SparkSession, not str"):
        ps.read_stream("spark", pyrs.empty(), "n long")
    with pytest.raises(TypeError, match="publisher must be a Publisher"):
        read([1, 2])
    with pytest.raises(TypeError, match="schema must be a StructType or a string, not int"):
        read(schema=3)
    with pytest.raises(TypeError, match="journal must be the path of a folder, not int"):
        read(journal=5)
    with pytest.raises(ValueError, match="max_rows must be at least 1"):
        read(max_rows=0)
    with pytest.raises(ValueError, match="capacity must be greater than max_rows, 10, not 10: Spark commits a batch"):
        read(max_rows=10, capacity=10)
    with pytest.raises(ValueError, match="as_ must be 'rows' or 'arrow', not 'pandas'"):
        read(as_="pandas")
    with pytest.raises(ValueError, match="capacity must be at least 2"):
        read(as_="arrow", capacity=1)
    with pytest.raises(ValueError, match="on_restart must be 'fail', 'new-epoch' or a function, not 'again'"):
        read(on_restart="again")


def test_a_replaced_query_reports_its_replacement(spark: Any) -> None:
    df = ps.read_stream(spark, pyrs.range(100_000).map(lambda n: (n,)), "n long", max_rows=10)
    first = df.writeStream.format("noop").start()
    eventually(lambda: first.lastProgress and first.lastProgress["batchId"] > 1, seconds=90)
    second = df.writeStream.format("noop").start()
    try:
        eventually(lambda: not first.isActive, seconds=90)
        assert "another query or another run of this one reads the stream now" in str(first.exception())
        assert second.isActive
    finally:
        first.stop()
        second.stop()
