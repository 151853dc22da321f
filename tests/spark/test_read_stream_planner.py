"""read_stream without Spark: answers to the planner, buffering, demand, and authentication."""

from __future__ import annotations

import logging
import socket
from asyncio import CancelledError
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from math import inf
from pathlib import Path
from threading import Event
from typing import Any

import pyarrow
import pytest

pytest.importorskip("pyspark.sql.datasource")
from pyspark import cloudpickle

import pyrs
from pyrs.spark.schema.rows import RowEncoder
from pyrs.spark.source import buffer, publishers
from pyrs.spark.source.buffer import OffsetRefused, ReplayBuffer
from pyrs.spark.source.elements import Elements
from pyrs.spark.source.intake import Intake
from pyrs.spark.source.journal import Journal
from pyrs.spark.source.reader import reader_source
from pyrs.testing import TestPublisher, Violation
from tests.spark.planners import SCHEMA, Driver, Planner, batch_of
from tests.waiting import DEADLINE, eventually


@pytest.fixture
def driver(_prompt: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Driver]]:
    monkeypatch.setattr("pyrs.spark.source.server._CHECK_SECONDS", 0.02)
    drivers: list[Driver] = []

    def make(*arguments: Any, **options: Any) -> Driver:
        drivers.append(Driver(*arguments, **options))
        return drivers[-1]

    yield make
    for each in drivers:
        each.terminate()


def rows_of(numbers: Any) -> Any:
    return pyrs.from_iterable(numbers).map(lambda n: (n,))


def read(planner: Planner, count: int) -> list[int]:
    """Return the next rows of the query."""
    rows: list[int] = []

    def more() -> bool:
        rows.extend(planner.plan() or ())
        return len(rows) >= count

    eventually(more)
    return rows


def test_each_element_is_in_one_batch_of_at_most_max_rows(driver: Callable[..., Driver]) -> None:
    planner = driver(rows_of(range(20))).planner()
    planner.reader.prepareForTriggerAvailableNow()
    batches = []
    while batch := planner.plan():
        batches.append(batch)
    assert [n for batch in batches for n in batch] == list(range(20))
    assert max(map(len, batches)) <= 3


def test_the_first_query_subscribes(driver: Callable[..., Driver]) -> None:
    publisher: TestPublisher[Any] = TestPublisher(timeout=DEADLINE)
    planner = driver(publisher).planner()
    planner.reader.initialOffset()
    publisher.assert_was_not_subscribed()
    assert planner.plan() is None
    publisher.await_subscribers()


def test_the_capacity_is_requested_and_then_one_element_for_each_committed_one(
    driver: Callable[..., Driver],
) -> None:
    publisher: TestPublisher[Any] = TestPublisher(timeout=DEADLINE)
    planner = driver(publisher).planner()
    assert planner.plan() is None
    publisher.await_requested(6).assert_max_requested(6)
    publisher.next(*[(n,) for n in range(6)])
    assert read(planner, 3) == [0, 1, 2]
    publisher.assert_max_requested(6)
    assert read(planner, 3) == [3, 4, 5]
    publisher.await_requested(9).assert_max_requested(9)


def test_the_minimum_capacity_does_not_block(driver: Callable[..., Driver]) -> None:
    planner = driver(rows_of(range(50)), capacity=4).planner()
    assert read(planner, 50) == list(range(50))


def test_a_failed_batch_is_read_again_unchanged(driver: Callable[..., Driver]) -> None:
    publisher: TestPublisher[Any] = TestPublisher(timeout=DEADLINE)
    process = driver(publisher)
    planner = process.planner()
    assert planner.plan() is None
    publisher.await_requested(6).assert_max_requested(6)
    publisher.next((0,), (1,))
    start = planner.reader.initialOffset()
    assert read(planner, 2) == [0, 1]
    end = planner.position
    publisher.next((2,), (3,))
    again = process.planner()
    assert again.rows(start, end) == [0, 1]
    again.position = end
    assert read(again, 2) == [2, 3]


def test_only_the_latest_planner_is_answered(driver: Callable[..., Driver]) -> None:
    process = driver(rows_of(range(9)))
    first, second = process.planner(), process.planner()
    assert read(first, 3) == [0, 1, 2]
    assert read(second, 3) == [0, 1, 2]
    with pytest.raises((RuntimeError, OSError)):
        first.plan()


def test_elements_before_an_error_are_read_first(driver: Callable[..., Driver]) -> None:
    def numbers() -> Iterator[int]:
        yield from range(4)
        raise ValueError("no more numbers")

    planner = driver(rows_of(numbers())).planner()
    assert read(planner, 4) == list(range(4))
    with pytest.raises(RuntimeError, match="ValueError: no more numbers"):
        eventually(planner.plan)


@pytest.mark.parametrize("error", [CancelledError("no loop"), SystemExit(1)], ids=repr)
def test_an_error_of_any_type_is_the_answer(driver: Callable[..., Driver], error: BaseException) -> None:
    planner = driver(pyrs.concat(rows_of(range(2)), pyrs.error(error))).planner()
    assert read(planner, 2) == [0, 1]
    with pytest.raises(RuntimeError, match=type(error).__name__):
        eventually(planner.plan)


def test_elements_before_a_misfit_are_read_first(driver: Callable[..., Driver]) -> None:
    planner = driver(pyrs.just((0,), (1,), ("two",), (3,))).planner()
    assert read(planner, 2) == [0, 1]
    with pytest.raises(RuntimeError, match=r"SchemaMisfit: element 2, .*'n' is of type bigint.*'two' is of type str"):
        eventually(planner.plan)


def test_a_batch_among_rows_is_refused_with_the_parameter_to_set(driver: Callable[..., Driver]) -> None:
    for batch in (batch_of(1), pyarrow.Table.from_batches([batch_of(1)])):
        planner = driver(pyrs.just((0,), batch)).planner()
        assert read(planner, 1) == [0]
        with pytest.raises(
            RuntimeError, match=r"element 1, .*must be a row, not a .*as_='arrow'.* accepts a RecordBatch"
        ):
            eventually(planner.plan)


def test_a_publisher_that_exceeds_demand_is_cancelled(driver: Callable[..., Driver]) -> None:
    publisher: TestPublisher[Any] = TestPublisher(Violation.REQUEST_OVERFLOW, timeout=DEADLINE)
    planner = driver(publisher).planner()
    assert planner.plan() is None
    publisher.await_requested(6).assert_max_requested(6)
    publisher.next(*[(n,) for n in range(7)])
    assert read(planner, 6) == list(range(6))
    with pytest.raises(RuntimeError, match="DemandExceeded"):
        eventually(planner.plan)
    publisher.await_cancelled()


def test_the_stop_of_the_session_cancels(driver: Callable[..., Driver]) -> None:
    publisher: TestPublisher[Any] = TestPublisher(timeout=DEADLINE)
    process = driver(publisher)
    planner = process.planner()
    assert planner.plan() is None
    publisher.await_requested(6).assert_max_requested(6)
    process.is_running = False
    publisher.await_cancelled()
    with pytest.raises((RuntimeError, OSError)):
        planner.plan()


def test_the_end_cancels_a_publisher_that_emits_within_request() -> None:
    paused, resumed, closed = Event(), Event(), Event()
    pulled = []

    def rows() -> Iterator[tuple[int]]:
        try:
            for n in range(100):
                pulled.append(n)
                if n == 1:
                    paused.set()
                    resumed.wait(DEADLINE)
                yield (n,)
        finally:
            closed.set()

    intake = Intake(pyrs.from_iterable(rows()))
    intake.allow(100)
    assert paused.wait(DEADLINE)
    intake.end(None)
    resumed.set()
    assert closed.wait(DEADLINE)
    assert pulled == [0, 1]


# A process has ended, and another one continues from its checkpoint.


def test_another_process_refuses_the_checkpoint(driver: Callable[..., Driver]) -> None:
    before = driver(rows_of(range(9))).planner()
    assert read(before, 3) == [0, 1, 2]
    after = driver(rows_of(range(9))).planner()
    with pytest.raises(RuntimeError, match="OffsetRefused: the checkpoint is at element 3 of a publisher whose"):
        after.reader.latestOffset(before.position, None)
    with pytest.raises(RuntimeError, match="OffsetRefused"):
        after.rows({**before.position, "sequence": 0}, before.position)


@pytest.mark.parametrize("offset", [{"logOffset": 3}, {"epoch": "0", "sequence": 1}, [1], 5, "text"])
def test_the_checkpoint_of_another_source_is_refused(driver: Callable[..., Driver], offset: Any) -> None:
    planner = driver(rows_of(range(9))).planner()
    with pytest.raises(RuntimeError, match="OffsetRefused: the checkpoint has an offset of another source"):
        planner.reader.latestOffset(offset, None)
    with pytest.raises(RuntimeError, match="OffsetRefused: the checkpoint has an offset of another source"):
        planner.reader.partitions(offset, offset)


def test_a_new_epoch_logs_the_lost_elements(driver: Callable[..., Driver], caplog: pytest.LogCaptureFixture) -> None:
    before = driver(rows_of(range(9))).planner()
    assert read(before, 3) == [0, 1, 2]
    after = driver(rows_of(range(100, 103)), on_restart="new-epoch").planner()
    with caplog.at_level(logging.ERROR, "pyrs.spark"):
        assert after.rows({**before.position, "sequence": 0}, before.position) == []
        after.position = before.position
        assert read(after, 3) == [100, 101, 102]
    lost, restarted = (record.getMessage() for record in caplog.records if record.name == "pyrs.spark")
    assert lost.startswith("read_stream: 3 rows of a batch are lost ")
    assert restarted.startswith("read_stream: the checkpoint is at element 3 ")


def test_a_restart_function_supplies_missing_elements(driver: Callable[..., Driver]) -> None:
    before = driver(rows_of(range(20))).planner()
    assert read(before, 9) == list(range(9))
    end = before.position
    requested: list[int] = []

    def from_number(number: int) -> Any:
        requested.append(number)
        return rows_of(range(number, 20))

    after = driver(pyrs.never(), on_restart=from_number).planner()
    assert after.rows({**end, "sequence": 2}, end) == list(range(2, 9))  # more than the capacity
    assert requested == [2]
    after.position = end
    assert read(after, 11) == list(range(9, 20))


def test_a_journal_stores_uncommitted_elements(driver: Callable[..., Driver], tmp_path: Path) -> None:
    process = driver(rows_of(range(9)), journal=tmp_path)
    before = process.planner()
    assert read(before, 6) == list(range(6))
    end = before.position
    eventually(lambda: list(tmp_path.glob("*-00000000000000000009.segment")))
    process.terminate()
    after = driver(rows_of(range(100, 103)), journal=tmp_path).planner()
    assert after.rows({**end, "sequence": 3}, end) == [3, 4, 5]
    after.position = end
    assert read(after, 6) == [6, 7, 8, 100, 101, 102]


def test_a_commit_releases_the_memory_of_restored_elements(driver: Callable[..., Driver], tmp_path: Path) -> None:
    process = driver(rows_of(range(6)), journal=tmp_path)
    position = process.planner().reader.initialOffset()
    assert read(process.planners[0], 3) == [0, 1, 2]
    process.terminate()
    journal = Journal(tmp_path)
    after = driver(rows_of(range(100, 106)), journal=journal).planner()
    assert sum(segment.end - segment.start for segment in journal.segments) >= 3
    after.position = position
    assert len(read(after, 12)) == 12
    assert all(segment.start >= 6 for segment in journal.segments)


def test_a_restart_function_continues_at_the_end_of_the_journal(driver: Callable[..., Driver], tmp_path: Path) -> None:
    process = driver(rows_of(range(20)), journal=tmp_path)
    before = process.planner()
    assert read(before, 6) == list(range(6))
    process.terminate()
    after = driver(pyrs.never(), on_restart=lambda n: rows_of(range(n, 20)), journal=tmp_path).planner()
    after.position = before.position
    assert read(after, 14) == list(range(6, 20))


def test_a_journal_may_be_added_later(driver: Callable[..., Driver], tmp_path: Path) -> None:
    before = driver(rows_of(range(20))).planner()
    assert read(before, 3) == [0, 1, 2]

    def from_number(number: int) -> Any:
        return rows_of(range(number, 20))

    process = driver(pyrs.never(), on_restart=from_number, journal=tmp_path)
    after = process.planner()
    after.position = before.position
    assert read(after, 3) == [3, 4, 5]
    process.terminate()
    last = driver(pyrs.never(), on_restart=from_number, journal=tmp_path).planner()
    last.position = after.position
    assert read(last, 14) == list(range(6, 20))


def test_a_journal_moves_to_the_next_read_stream_when_its_planner_has_ended(
    driver: Callable[..., Driver], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planner of a stopped query is still connected for some milliseconds."""
    before = driver(rows_of(range(3)), journal=tmp_path)
    planner = before.planner()
    assert read(planner, 3) == [0, 1, 2]
    turn = before.server._turn

    class Turn:
        """The lock of the server. The planner ends while another thread waits for the lock."""

        def acquire(self, timeout: float) -> bool:
            planner.reader.stop()
            return turn.acquire(timeout=DEADLINE)

        def __getattr__(self, name: str) -> Any:
            return getattr(turn, name)

        def __enter__(self) -> bool:
            return turn.__enter__()

        def __exit__(self, *raised: Any) -> None:
            turn.__exit__(*raised)

    monkeypatch.setattr(before.server, "_turn", Turn())
    monkeypatch.setitem(publishers._servers, tmp_path.resolve(), before.server)
    publishers._opened(str(tmp_path)).close()
    assert before.closed.is_set()


def test_buffered_elements_are_journaled_while_spark_is_busy(driver: Callable[..., Driver], tmp_path: Path) -> None:
    publisher: TestPublisher[Any] = TestPublisher(timeout=DEADLINE)
    process = driver(publisher, journal=tmp_path)
    planner = process.planner()
    assert planner.plan() is None
    publisher.await_requested(6).assert_max_requested(6)
    publisher.next((0,), (1,))
    eventually(lambda: list(tmp_path.glob("*-00000000000000000002.segment")))
    assert read(planner, 2) == [0, 1]


def test_a_planner_without_a_start_offset_remembers_it(
    driver: Callable[..., Driver], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark before 4.2 does not pass the start offset, and the journal may contain elements before the first batch."""
    monkeypatch.setattr(
        "pyrs.spark.source.buffer._KEEP_SECONDS", inf
    )  # nothing is journaled until all six have arrived
    publisher: TestPublisher[Any] = TestPublisher(timeout=DEADLINE)
    process = driver(publisher, journal=tmp_path)
    reader = process.planner().reader
    position = reader.initialOffset()
    assert reader.latestOffset() == position
    publisher.await_requested(6).next(*[(n,) for n in range(6)])
    monkeypatch.setattr("pyrs.spark.source.buffer._KEEP_SECONDS", 0)
    eventually(lambda: list(tmp_path.glob("*-00000000000000000006.segment")))
    planner = process.planners[0]
    for rows in ([0, 1, 2], [3, 4, 5]):
        end = reader.latestOffset()
        reader.commit(position)
        assert planner.rows(position, end) == rows
        position = end
    publisher.await_requested(9)


def test_a_query_with_one_batch_waits_for_the_first_element(
    driver: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyrs.spark.source.buffer._FIRST_SECONDS", DEADLINE)
    publisher: TestPublisher[Any] = TestPublisher(timeout=DEADLINE)
    planner = driver(publisher).planner()
    start, everything = planner.reader.initialOffset(), type("ReadAllAvailable", (), {})()
    with ThreadPoolExecutor(1) as threads:
        end = threads.submit(planner.reader.latestOffset, start, everything)
        publisher.await_requested(6).next((0,))
        assert planner.rows(start, end.result(DEADLINE)) == [0]


def test_the_initial_offset_may_be_requested_after_the_first_batch(driver: Callable[..., Driver]) -> None:
    """Spark before 4.2 does so in a query with a new checkpoint."""
    process = driver(rows_of(range(20)))
    assert [process.planner().plan(), process.planners[0].plan()] == [[0, 1, 2], [3, 4, 5]]
    planner = process.planner()
    end = planner.reader.latestOffset()
    assert planner.rows(planner.reader.initialOffset(), end) == [3, 4, 5, 6, 7, 8]
    eventually(lambda: planner.reader.latestOffset() != end)  # one element more than the capacity is requested
    assert planner.rows(end, planner.reader.latestOffset()) == [9]


def test_a_full_disk_fails_the_query_which_can_continue(
    driver: Callable[..., Driver], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = driver(rows_of(range(3)), journal=tmp_path)
    planner = process.planner()

    def full(self: Journal, segment: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "append", full)
        with pytest.raises(RuntimeError, match="No space left on device"):
            eventually(planner.plan)
    assert read(planner, 3) == [0, 1, 2]


# Authentication.


def test_a_connection_without_the_token_gets_no_answer(driver: Callable[..., Driver]) -> None:
    process = driver(rows_of(range(9)))
    with socket.create_connection(("127.0.0.1", process.server.port), DEADLINE) as connection:
        connection.sendall(bytes(32))
        assert len(connection.recv(64, socket.MSG_WAITALL)) == 64
        connection.sendall(bytes(32))
        assert connection.recv(1) == b""
    assert read(process.planner(), 3) == [0, 1, 2]


def test_silent_connections_do_not_block_the_planner(driver: Callable[..., Driver]) -> None:
    process = driver(rows_of(range(9)))
    connections = [socket.create_connection(("127.0.0.1", process.server.port), DEADLINE) for _ in range(20)]
    try:
        assert read(process.planner(), 3) == [0, 1, 2]
        for connection in connections[:12]:  # at most eight may wait
            assert connection.recv(1) == b""
    finally:
        for connection in connections:
            connection.close()


def test_an_unauthenticated_connection_is_closed_after_a_timeout(
    driver: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyrs.spark.source.server._PROOF_SECONDS", 0.05)
    process = driver(rows_of(range(9)))
    with socket.create_connection(("127.0.0.1", process.server.port), DEADLINE) as connection:
        assert connection.recv(1) == b""


def test_the_planner_refuses_another_server(driver: Callable[..., Driver]) -> None:
    process, other = driver(rows_of(range(9))), driver(rows_of(range(9)))
    planner = other.planner()
    planner.reader._planner()._token = process.server.token
    with pytest.raises(RuntimeError, match="is not the process that read_stream was called in"):
        planner.plan()


def test_an_oversized_message_is_refused(driver: Callable[..., Driver]) -> None:
    process = driver(rows_of(range(9)))
    planner = process.planner()
    planner.reader.initialOffset()
    planner.reader._opened._connection.sendall(b"\xff\xff\xff\xff")
    assert planner.reader._opened._connection.recv(1) == b""


def test_executors_do_not_receive_the_token(driver: Callable[..., Driver]) -> None:
    process = driver(rows_of(range(9)))
    source = Planner._pickled(
        reader_source("numbers", SCHEMA, process.server.host, process.server.port, process.server.token)({})
    )
    assert process.server.token in cloudpickle.dumps(source)
    reader = source.streamReader(SCHEMA)
    assert process.server.token not in cloudpickle.dumps((reader, source))
    (batch,) = Planner._pickled(reader).read(type("Part", (), {"value": _encoded((1,), (2,))}))
    assert batch.column("n").to_pylist() == [1, 2]


def _encoded(*rows: Any) -> bytes:
    sink = pyarrow.BufferOutputStream()
    batch = RowEncoder(SCHEMA).batch(rows)
    with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def test_batches_are_divided_and_joined_and_count_as_elements(driver: Callable[..., Driver]) -> None:
    publisher: TestPublisher[Any] = TestPublisher(timeout=DEADLINE)
    planner = driver(publisher, max_rows=3, capacity=4, whole=True).planner()
    assert planner.plan() is None
    publisher.await_requested(4)
    publisher.next(batch_of(0, 1, 2, 3, 4), batch_of(), batch_of(5), batch_of(6))
    assert read(planner, 3) == [0, 1, 2]
    publisher.await_requested(5)  # an empty batch needs no commit
    assert planner.plan() == [3, 4, 5]
    publisher.await_requested(5)
    assert planner.plan() == [6]
    publisher.await_requested(7)  # the elements up to row 5 are committed
    publisher.next(batch_of(7))
    assert read(planner, 1) == [7]


def test_large_rows_among_small_ones_are_sent_in_separate_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffer, "_TASK_BYTES", 10_000)
    column = pyarrow.array(["a" * 8000, "b" * 8000, "c" * 12_000] + ["s"] * 100)
    batch = pyarrow.RecordBatch.from_pydict({"s": column})
    pieces = [pyarrow.ipc.open_stream(piece).read_all() for piece in buffer._parts([batch.slice(0, 50), batch], 2)]
    assert pyarrow.concat_tables(pieces).column("s").to_pylist() == column.to_pylist()[:50] + column.to_pylist()
    assert all(piece.nbytes < 10_000 or piece.num_rows == 1 for piece in pieces)
    assert len(pieces) < 30


def test_small_batches_leave_capacity_for_another_element(driver: Callable[..., Driver]) -> None:
    """Spark commits a batch when there is another one, so capacity for one element is left."""
    publisher: TestPublisher[Any] = TestPublisher(timeout=DEADLINE)
    planner = driver(publisher, max_rows=100, capacity=3, whole=True).planner()
    assert planner.plan() is None
    publisher.await_requested(3).next(batch_of(0), batch_of(1, 2), batch_of(3))
    assert planner.plan() == [0, 1, 2]
    assert planner.plan() == [3]
    publisher.await_requested(5)


def test_all_batches_arrive_before_completion(driver: Callable[..., Driver], tmp_path: Path) -> None:
    for journal in (None, tmp_path / "journal"):
        batches = pyrs.range(20).map(lambda n: batch_of(*range(5 * n, 5 * n + 5)))
        planner = driver(batches, max_rows=7, capacity=2, whole=True, journal=journal).planner()
        assert read(planner, 100) == list(range(100))


def test_a_misfit_batch_fails_after_the_batches_before_it(driver: Callable[..., Driver]) -> None:
    wrong = pyarrow.RecordBatch.from_pydict({"m": [1]})
    for element, text in ((wrong, "element 1, a batch: field 'n'"), ((2,), "element 1, .*: must be a RecordBatch")):
        planner = driver(pyrs.just(batch_of(0), element), whole=True).planner()
        assert read(planner, 1) == [0]
        with pytest.raises(RuntimeError, match=text):
            eventually(planner.plan)


def test_buffered_elements_after_a_misfit_do_not_hide_its_error(
    driver: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Elements, "chunk", 2)
    wrong = pyarrow.RecordBatch.from_pydict({"m": [1]})
    sources: dict[bool, list[Any]] = {
        True: [batch_of(0), wrong, batch_of(2), batch_of(3)],
        False: [(0,), ("one",), (2,), (3,)],
    }
    for whole, elements in sources.items():
        planner = driver(pyrs.from_iterable(elements), whole=whole).planner()
        planner.reader.prepareForTriggerAvailableNow()  # the end would be taken for a completion
        assert planner.plan() == [0]
        with pytest.raises(RuntimeError, match="SchemaMisfit: element 1"):
            planner.plan()
        again = driver(pyrs.from_iterable(elements), whole=whole, on_restart=lambda _: None).planner()
        start = again.reader.initialOffset()
        with pytest.raises(RuntimeError, match="SchemaMisfit: element 1"):
            again.rows(start, {**start, "sequence": 4})


def test_a_restart_function_supplies_batches_from_a_row(driver: Callable[..., Driver]) -> None:
    def batches(first: int) -> Any:
        return pyrs.from_iterable([batch_of(n, n + 1) for n in range(first, first + 20, 2)])

    one = driver(batches(0), max_rows=4, capacity=3, whole=True)
    planner = one.planner()
    first = len(read(planner, 8))
    start, end = planner.position, {**planner.position, "sequence": first + 7}
    one.terminate()
    again = driver(batches(0), max_rows=4, capacity=2, whole=True, on_restart=batches).planner()
    assert again.rows(start, end) == list(range(first, first + 7))


def test_small_segments_of_a_batch_are_one_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a journal the rows of each tenth of a second are a segment."""
    monkeypatch.setattr(buffer, "_TASK_ROWS", 10)
    ends = [0, 1, 4, 9, 40, 45, 50, 51]
    table = pyarrow.table({"n": range(51)})
    parts = [(start, end, table.slice(start, end - start)) for start, end in pairwise(ends)]
    segments = [buffer.Segment(start, end, buffer._parts(part.to_batches(), 4)) for start, end, part in parts]
    tables = [pyarrow.ipc.open_stream(piece).read_all() for piece in buffer._pieces(segments)]
    assert [each.num_rows for each in tables] == [9, 8, 8, 8, 7, 10, 1]
    assert pyarrow.concat_tables(tables).column("n").to_pylist() == [*range(51)]


def test_another_journal_is_reported_as_such(tmp_path: Path) -> None:
    buffer = ReplayBuffer(pyrs.empty(), RowEncoder(SCHEMA), 3, 8, "fail", Journal(tmp_path / "journal"))
    question = {"what": "latest", "start": {"epoch": "0" * 32, "sequence": 5}}
    with pytest.raises(OffsetRefused, match="element 5 of another journal than "):
        buffer.answer(question, lambda: True)
    buffer.close()
