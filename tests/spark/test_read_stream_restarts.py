"""The buffer of read_stream after restarts and with small batches. The tests send the requests of Spark."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyspark.sql.types import ArrayType, LongType, StringType, StructType

import pyrs
from pyrs.spark.schema.rows import RowEncoder
from pyrs.spark.source.journal import Journal

pytest.importorskip("pyspark.sql.datasource")

from pyrs.spark.source import publishers
from pyrs.spark.source.buffer import OffsetRefused, ReplayBuffer
from pyrs.spark.source.elements import BatchElements
from pyrs.spark.source.intake import Intake
from pyrs.testing import TestPublisher
from tests.spark.planners import SCHEMA, batch_of
from tests.waiting import eventually

pytestmark = pytest.mark.usefixtures("_prompt")
EARLIER = "0" * 32


def rows_from(first: int) -> pyrs.Stream[tuple[int]]:
    return pyrs.range(first, 20).map(lambda n: (n,))


def small_batches_from(first: int) -> pyrs.Stream[Any]:
    return pyrs.range(first, 20).map(batch_of)


def one_batch_from(first: int) -> pyrs.Stream[Any]:
    return pyrs.just(batch_of(*range(first, 20)))


def buffer(
    source: Any,
    max_rows: int = 5,
    capacity: int = 8,
    on_restart: Any = "fail",
    journal: Path | None = None,
    whole: bool = False,
) -> ReplayBuffer:
    opened = None if journal is None else Journal(journal)
    return ReplayBuffer(source, RowEncoder(SCHEMA), max_rows, capacity, on_restart, opened, 1, whole)


def request(of: ReplayBuffer, what: str, **more: Any) -> list[Any]:
    return list(of.answer({"what": what, **more}, lambda: True))


def planned(of: ReplayBuffer, start: dict[str, Any], end: dict[str, Any]) -> Iterator[int]:
    for part in request(of, "plan", start=start, end=end):
        with pyarrow.ipc.open_stream(part) as reader:
            for batch in reader:
                yield from batch.column("n").to_pylist()


def test_empty_batches_do_not_end_an_available_now_query() -> None:
    with closing(buffer(pyrs.just(*[batch_of()] * 5, batch_of(1, 2, 3)), capacity=2, whole=True)) as replay:
        start = json.loads(request(replay, "initial")[0])
        assert json.loads(request(replay, "latest", start=start, finish=True)[0])["sequence"] == 3


def test_the_only_offset_of_an_available_now_query_before_spark_4_2_waits_for_an_element(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pyrs.spark.source.buffer._FIRST_SECONDS", 60, raising=False)
    source: TestPublisher[Any] = TestPublisher(timeout=60)
    with closing(buffer(source)) as replay, ThreadPoolExecutor(1) as planner:
        offset = planner.submit(request, replay, "latest")  # without a start
        source.await_requested(8)
        source.next((7,))
        assert json.loads(offset.result(60)[0])["sequence"] == 1


@pytest.mark.parametrize(
    ("source", "whole", "capacity"),
    [(rows_from, False, 30), (small_batches_from, True, 2), (one_batch_from, True, 8)],
    ids=["max_rows lowered", "smaller batches", "a larger batch"],
)
def test_a_batch_from_before_a_restart_is_planned_with_other_sizes(
    source: Callable[[int], Any], whole: bool, capacity: int
) -> None:
    limits = {"max_rows": 20 if source is small_batches_from else 5, "capacity": capacity, "whole": whole}
    with closing(buffer(source(0), on_restart=source, **limits)) as replay:
        start, end = ({"epoch": EARLIER, "sequence": at} for at in (0, 20))
        assert list(planned(replay, start, end)) == list(range(20))


def test_a_query_resumes_at_an_uncommitted_first_batch() -> None:
    """The checkpoint has no start of the first batch, so Spark uses the initial offset of this process."""
    with closing(buffer(rows_from(0), on_restart=rows_from, capacity=10)) as replay:
        start = json.loads(request(replay, "initial")[0])
        end = {"epoch": EARLIER, "sequence": 5}
        assert list(planned(replay, start, end)) == list(range(5))
        assert json.loads(request(replay, "latest", start=end, finish=True)[0])["sequence"] == 10


@pytest.mark.parametrize("is_planned", [False, True], ids=["latest", "plan"])
@pytest.mark.parametrize(("source", "whole"), [(rows_from, False), (small_batches_from, True)], ids=["rows", "batches"])
def test_a_journal_continues_at_the_checkpoint_of_a_query_that_ran_without_it(
    source: Callable[[int], Any], whole: bool, is_planned: bool, tmp_path: Path
) -> None:
    options = {"on_restart": source, "journal": tmp_path, "whole": whole}
    with closing(buffer(source(0), **options)) as replay:
        first = json.loads(request(replay, "initial")[0])
        assert json.loads(request(replay, "latest", start=first, finish=True)[0])["sequence"] == 5
    start, end = ({**first, "sequence": at} for at in (15, 20))
    with closing(buffer(pyrs.never(), **options)) as replay:
        if not is_planned:
            assert json.loads(request(replay, "latest", start=start, finish=True)[0]) == end
        assert list(planned(replay, start, end)) == list(range(15, 20))
    with closing(buffer(pyrs.empty(), journal=tmp_path, whole=whole)) as replay:
        assert list(planned(replay, start, end)) == list(range(15, 20))


def test_a_checkpoint_after_the_received_elements_is_refused(tmp_path: Path) -> None:
    with closing(buffer(rows_from(0), on_restart=rows_from, journal=tmp_path)) as replay:
        first = json.loads(request(replay, "initial")[0])
        request(replay, "latest", start=first, finish=True)
        with pytest.raises(OffsetRefused, match="the checkpoint is at element 15, but those from 0 to 5 are buffered"):
            request(replay, "latest", start={**first, "sequence": 15})


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the numbers of allowed elements. Received elements are journaled at once."""
    numbers: list[int] = []
    allow = Intake.allow

    def recording(self: Intake, count: int) -> None:
        numbers.append(count)
        allow(self, count)

    monkeypatch.setattr(Intake, "allow", recording)
    monkeypatch.setattr("pyrs.spark.source.buffer._KEEP_SECONDS", 0)
    return numbers


def numbers_of(whole: bool) -> pyrs.Stream[Any]:
    return pyrs.range(1000).map(batch_of if whole else lambda n: (n,))


def latest(of: ReplayBuffer, start: Any, finish: bool = True) -> Any:
    return json.loads(request(of, "latest", start=start, finish=finish)[0])


@pytest.mark.parametrize("whole", [False, True], ids=["rows", "batches"])
def test_repeated_restarts_buffer_at_most_the_capacity(whole: bool, tmp_path: Path, allowed: list[int]) -> None:
    for journaled in (0, 8, 8, 8):
        with closing(buffer(numbers_of(whole), journal=tmp_path, whole=whole)) as replay:
            start = json.loads(request(replay, "initial")[0])
            assert latest(replay, start)["sequence"] > 0
            assert sum(allowed) == 8 - journaled
            eventually(lambda replay=replay: not replay.ahead() and replay._end == 8)
            allowed.clear()
    with closing(buffer(numbers_of(whole), journal=tmp_path, whole=whole)) as replay:
        position = json.loads(request(replay, "initial")[0])
        rows: list[int] = []
        while len(rows) < 20:
            end = latest(replay, position)
            request(replay, "commit", end=position)
            rows += planned(replay, position, end)
            position = end
            assert replay._uncommitted <= 8
        assert rows == [*range(8), *range(len(rows) - 8)]


@pytest.mark.parametrize("whole", [False, True], ids=["rows", "batches"])
def test_a_restart_between_a_batch_and_a_commit_buffers_at_most_one_more_element(
    whole: bool, tmp_path: Path, allowed: list[int]
) -> None:
    """Spark repeats a commit only with the next batch, which needs one more element."""
    limits: dict[str, Any] = {"max_rows": 5, "capacity": 6, "journal": tmp_path, "whole": whole}
    with closing(buffer(numbers_of(whole), **limits)) as replay:
        start = json.loads(request(replay, "initial")[0])
        first = latest(replay, start)
        assert list(planned(replay, first, first)) == []  # as Spark 4.0 does before it repeats a batch
        list(planned(replay, start, first))
        second = latest(replay, first)
    for restart in range(1, 4):
        with closing(buffer(numbers_of(whole), **limits)) as replay:
            assert list(planned(replay, second, second)) == []
            assert len(list(planned(replay, first, second))) == second["sequence"] - first["sequence"]
            first, second = second, latest(replay, second)
            assert second["sequence"] > first["sequence"]
            assert replay._uncommitted <= 6 + restart


@pytest.mark.parametrize("start_is_known", [True, False])
@pytest.mark.parametrize("whole", [False, True], ids=["rows", "batches"])
def test_a_query_continues_if_uncommitted_rows_exhaust_the_capacity(
    whole: bool, start_is_known: bool, tmp_path: Path, allowed: list[int]
) -> None:
    with closing(buffer(numbers_of(whole), max_rows=20, capacity=21, journal=tmp_path, whole=whole)) as replay:
        start = json.loads(request(replay, "initial")[0])
        eventually(lambda: latest(replay, start)["sequence"] >= 20)
        end = latest(replay, start)
        list(planned(replay, start, end))
    allowed.clear()
    with closing(buffer(numbers_of(whole), max_rows=3, capacity=4, journal=tmp_path, whole=whole)) as replay:
        if not start_is_known:  # before Spark 4.2; Spark then repeats no batch
            assert latest(replay, None, finish=False) == end
        after = latest(replay, end)
        assert after["sequence"] == end["sequence"] + 1
        assert sum(allowed) == 1
        request(replay, "commit", end=end)
        assert list(planned(replay, end, after)) == [0]
        assert sum(allowed) == 4


def test_full_batches_are_prepared_while_spark_is_busy() -> None:
    with closing(buffer(rows_from(0), max_rows=6, capacity=20)) as replay:
        eventually(lambda: replay._begun().received == 20)
        position = json.loads(request(replay, "initial")[0])
        position = latest(replay, position)
        eventually(lambda: not replay.ahead())
        assert replay._end == 18  # later rows may still join the last two in a batch
        ends = [position["sequence"]]
        while ends[-1] < 20:
            end = latest(replay, position)
            assert list(planned(replay, position, end)) == list(range(position["sequence"], end["sequence"]))
            ends.append(end["sequence"])
            position = end
        assert ends == [6, 12, 18, 20]


def test_a_row_too_large_for_a_task_fails_after_the_rows_before_it() -> None:
    schema = StructType().add("text", StringType())
    rows = pyrs.just(("a",), ("b" * 5000,), ("c",))
    of = ReplayBuffer(rows, RowEncoder(schema), 10, 20, "fail", None, most_bytes=1000)
    try:
        eventually(lambda: of._begun().received == 3)
        start = json.loads(request(of, "initial")[0])
        end = json.loads(request(of, "latest", start=start)[0])
        assert end["sequence"] == 1
        with pytest.raises(
            ValueError, match=r"row 1 has 5\d\d\d bytes, which spark\.rpc\.message\.maxSize does not allow"
        ):
            request(of, "latest", start=end)
    finally:
        of.close()


def test_a_batch_of_empty_lists_without_offsets_is_encoded() -> None:
    """Spark 4.0 sends such columns. Reading their ``nbytes`` crashes the process."""
    schema = StructType().add("lists", ArrayType(ArrayType(LongType())))
    inner = pyarrow.Array.from_buffers(pyarrow.list_(pyarrow.int64()), 0, [None, None], children=[pyarrow.array([1])])
    lists = pyarrow.ListArray.from_arrays([0, 0, 0], inner)
    batch, _, error = BatchElements(RowEncoder(schema)).encode([pyarrow.RecordBatch.from_arrays([lists], ["lists"])], 0)
    assert (batch.num_rows, error) == (2, None)


def test_the_size_of_a_row_is_limited_where_tasks_are_sent(spark: Any) -> None:
    class Context:
        def __init__(self, master: str) -> None:
            self.master = master

        def getConf(self) -> Any:
            return {"spark.rpc.message.maxSize": "2"}

    assert publishers._most_bytes(spark.sparkContext) == math.inf
    assert publishers._most_bytes(Context("local")) == math.inf
    assert publishers._most_bytes(Context("local-cluster[2,1,1024]")) == 1 << 20
    assert publishers._most_bytes(Context("yarn")) == 1 << 20
