"""Interactive use: progress, the table in a notebook, and Ctrl-C."""

from __future__ import annotations

import asyncio
import io
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pyrs
from pyrs import spark as ps
from pyrs.operators.progress import Progress
from pyrs.spark.read.showing import Bar
from pyrs.testing import TestSubscriber
from tests.spark.gates import Gates
from tests.spark.jobs import JOB_DEADLINE, active_jobs
from tests.waiting import eventually


@pytest.fixture(params=["tqdm", "lines"])
def display(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "tqdm":
        pytest.importorskip("tqdm")
    else:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    return str(request.param)


@pytest.mark.parametrize("as_", ["rows", "arrow"])
def test_progress_counts_partitions_and_rows(spark: Any, display: str, as_: str) -> None:
    file = io.StringIO()
    stream = ps.from_dataframe(spark.range(0, 1000, 1, 4), as_=as_)
    stream.progress(description="numbers", file=file).collect(timeout=JOB_DEADLINE)
    text = file.getvalue()
    last = text.replace("\r", "\n").strip().splitlines()[-1]
    assert "numbers: " in text
    if display == "tqdm":
        assert "| 4/4 [" in last and "1,000 rows" in last
    else:
        assert last.startswith("numbers: 4 of 4 partitions, 1000 rows, ")
        assert text.startswith("numbers: 0 of 4 partitions, 0 rows, ")


def test_a_cancelled_stream_shows_its_last_progress(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    file = io.StringIO()
    stream = ps.from_dataframe(spark.range(0, 1000, 1, 4)).progress(file=file)
    subscriber: TestSubscriber[Any] = TestSubscriber(3)
    stream.subscribe(subscriber)
    subscriber.await_count(3, JOB_DEADLINE)
    subscriber.cancel()
    eventually(lambda: "0 of 4 partitions, 3 rows, " in file.getvalue())


def test_progress_with_a_total_counts_elements(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    file = io.StringIO()
    ps.from_dataframe(spark.range(5)).progress(5, file=file).collect(timeout=JOB_DEADLINE)
    assert "5 of 5 elements" in file.getvalue()


def test_a_file_that_is_false_receives_the_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lines(list[str]):
        write = list.append

    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    file: Any = Lines()
    Bar(Progress(None, None, file)).partitions(1, 2)
    assert "".join(file).startswith("1 of 2 partitions, 0 rows, ")


def test_an_error_of_the_display_does_not_end_the_stream(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    dropped: list[str] = []
    before = pyrs.set_error_hook(lambda error, where: dropped.append(f"{error}: {where}"))
    file = io.StringIO()
    file.close()
    try:
        assert len(ps.from_dataframe(spark.range(5)).progress(file=file).collect(timeout=JOB_DEADLINE)) == 5
    finally:
        pyrs.set_error_hook(before)
    assert dropped == ["I/O operation on closed file: showing the progress of from_dataframe"]


def test_wrong_arguments_raise(spark: Any) -> None:
    stream = ps.from_dataframe(spark.range(1))
    with pytest.raises(TypeError, match="description must be a string, not int"):
        stream.progress(description=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"file must be an object with write\(\), not int"):
        stream.progress(file=3)  # type: ignore[arg-type]


def test_a_notebook_shows_the_columns_without_a_job(spark: Any) -> None:
    stream = ps.from_dataframe(spark.sql("select 1 as one, array(2.5D) as `<b>`"), as_="tuples", window=2)
    html = stream._repr_html_()
    assert "<td>one</td><td>int</td>" in html
    assert "<td>&lt;b&gt;</td><td>array&lt;double&gt;</td>" in html
    assert "A stream of tuples, at most 2 partitions at a time, in order." in html
    assert stream.progress()._repr_html_() == html  # type: ignore[attr-defined]
    assert "A stream of rows, at most 16 jobs at a time, in any order." in (
        ps.from_dataframe(spark.range(1), ordered=False)._repr_html_()
    )


@pytest.fixture(params=["spark", "python"])
def on_interrupt(request: pytest.FixtureRequest, spark: Any) -> Iterator[str]:
    """PySpark's handler of SIGINT cancels all jobs of the session; Python's does not."""
    before = signal.getsignal(signal.SIGINT)
    if request.param == "python":
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield str(request.param)
    signal.signal(signal.SIGINT, before)


def iterate_rows(df: Any) -> None:
    for _ in ps.from_dataframe(df).to_iterable():
        pass


async def _iterate_rows_async(df: Any) -> None:
    async with ps.from_dataframe(df).iterate() as rows:
        async for _ in rows:
            pass


def frames_of(df: Any) -> None:
    ps.for_each_frame(pyrs.just((1,)), "n long", lambda _: df.collect(), max_wait=0.01).block()


def partitions_of(df: Any) -> None:
    pytest.importorskip("pandas")
    ps.for_each_partition(df, lambda: None).block()


WAITS: dict[str, Callable[[Any], object]] = {
    "collect": lambda df: ps.from_dataframe(df).collect(),
    "for_each": lambda df: ps.from_dataframe(df).progress(file=io.StringIO()).for_each(print),
    "to_iterable": iterate_rows,
    "asyncio": lambda df: asyncio.run(_iterate_rows_async(df)),
    "for_each_frame": frames_of,
    "for_each_partition": partitions_of,
}
# Each case takes two seconds, in which Spark ends the tasks. PySpark's handler cancels the jobs itself, so most of its
# cases run in campaigns only.
INTERRUPTED = [
    pytest.param(handler, name, marks=[] if handler == "python" or name == "collect" else [pytest.mark.campaign])
    for handler in ("spark", "python")
    for name in WAITS
]


@pytest.mark.parametrize(("on_interrupt", "name"), INTERRUPTED, indirect=["on_interrupt"])
def test_ctrl_c_cancels_the_jobs(spark: Any, tmp_path: Path, on_interrupt: str, name: str) -> None:
    dropped: list[str] = []
    before = pyrs.set_error_hook(lambda error, where: dropped.append(f"{error!r}: {where}"))
    gates = Gates(tmp_path)
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        eventually(gates.began, seconds=JOB_DEADLINE)
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            WAITS[name](gates.guard(spark.range(0, 100, 1, 4)))
        eventually(lambda: not active_jobs(spark), "jobs still run")
        assert spark.range(3).count() == 3
    finally:
        pyrs.set_error_hook(before)
        gates.open()
        thread.join()
    if on_interrupt == "spark":  # PySpark's cancel may fail the stream just after the interrupt cancels it
        dropped = [text for text in dropped if "cancelled as part of cancellation of all jobs" not in text]
    assert dropped == []


def test_ctrl_c_stops_a_query(spark: Any, on_interrupt: str) -> None:
    began = threading.Event()
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        assert began.wait(JOB_DEADLINE)
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    sdf = spark.readStream.format("rate").option("rowsPerSecond", 5).load()

    def acknowledge(batch: ps.Batch) -> None:
        batch.ack()  # a discarded batch would fail the stream, perhaps before the interrupt
        began.set()

    with pytest.raises(KeyboardInterrupt):
        ps.from_stream(sdf).for_each(acknowledge)
    thread.join()
    eventually(lambda: not spark.streams.active, "a query still runs")
