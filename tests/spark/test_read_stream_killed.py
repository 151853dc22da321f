"""A query fails, or the driver is killed, at each step of a micro-batch: no row is lost or repeated.

A driver takes seconds to start, so only one kill runs by default. ``make test-all`` runs the rest.
"""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "pyspark.sql.streaming.datasource", reason="needs Spark 4.2, which gives a source the start offset of a query"
)

from tests.spark.killable import (
    PAUSES,
    STEPS,
    TOTAL,
    failing_at,
    read,
    read_guarded,
    read_published,
    start,
    stored,
)


def cases(default: list[tuple[str, ...]], *choices: tuple[str, ...]) -> list[Any]:
    """Return every combination; those that are not in the default run in campaigns only."""
    return [case if case in default else pytest.param(*case, marks=pytest.mark.campaign) for case in product(*choices)]


FAILED = cases([("read", "arrow")], STEPS, ("rows", "arrow"))
KILLED = cases([("commit", "rows", "journal")], STEPS, ("rows", "arrow"), ("journal", "function"))


@pytest.mark.parametrize(("step", "as_"), FAILED)
def test_a_query_that_failed_at_a_step_resumes_there(spark: Any, tmp_path: Path, step: str, as_: str) -> None:
    df = read(spark, as_)
    fail_at(step, df, tmp_path)
    start(df, tmp_path / "stored").awaitTermination()
    assert stored(tmp_path / "stored") == list(range(TOTAL))


def test_a_query_that_fails_at_each_step_in_turn_loses_no_row(spark: Any, tmp_path: Path) -> None:
    df = read(spark, "rows")
    for step in STEPS:
        fail_at(step, df, tmp_path)
    start(df, tmp_path / "stored").awaitTermination()
    assert stored(tmp_path / "stored") == list(range(TOTAL))


def fail_at(step: str, df: Any, folder: Path) -> None:
    """Run a query that fails at a step of its second or a later batch."""
    marker = str(folder / f"failed at {step}")

    def fail() -> None:
        import os

        if not os.path.exists(marker):
            open(marker, "w").close()
            raise RuntimeError(f"failed at {step}")

    undo = failing_at(step, fail)
    try:
        with pytest.raises(Exception, match=f"failed at {step}"):
            start(read_guarded(df, step, fail), folder / "stored", step, fail).awaitTermination()
    finally:
        undo()
    assert len(stored(folder / "stored")) < TOTAL


def killed(folder: Path, step: str, as_: str, kept: str, pause: str = "") -> list[int]:
    """Kill a driver at a step, and return the rows that it stored."""
    folder.mkdir()
    command = [sys.executable, "-m", "tests.spark.killable", str(folder), step, as_, kept, "local[2]", pause]
    # The output is not piped: Spark's workers, in another process group, would keep the pipe open.
    ended = subprocess.run(command, start_new_session=True, timeout=300, check=False)
    assert ended.returncode == -signal.SIGKILL
    before = stored(folder)
    assert before == list(range(len(before))) and len(before) < TOTAL
    return before


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize(("step", "as_", "kept"), KILLED)
def test_a_killed_driver_loses_no_row(spark: Any, tmp_path: Path, step: str, as_: str, kept: str) -> None:
    """Use a journal, or a publisher that can be restarted at an element.

    The driver also runs a query of stream_from_publishers, which is killed at a different step.
    """
    folder = tmp_path / "stored"
    killed(folder, step, as_, kept, PAUSES[STEPS.index(step) % len(PAUSES)])
    assert 0 < len(stored(folder / "publishers")) < TOTAL
    start(read_published(spark), folder / "publishers").awaitTermination()
    assert sorted(stored(folder / "publishers")) == list(range(TOTAL))
    journal = folder / "journal" if kept == "journal" else None
    start(read(spark, as_, journal, on_restart=True), folder).awaitTermination()
    assert stored(folder) == list(range(TOTAL))


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.campaign
@pytest.mark.parametrize("as_", ["rows", "arrow"])
def test_a_killed_driver_without_a_journal_reports_the_lost_rows(
    spark: Any, tmp_path: Path, as_: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "stored"
    before = killed(folder, "planning", as_, "nothing")
    with pytest.raises(Exception, match=r"OffsetRefused: .*whose process has ended, so its buffered elements"):
        start(read(spark, as_), folder).awaitTermination()
    assert stored(folder) == before
    with caplog.at_level(logging.ERROR, "pyrs.spark"):
        start(read(spark, as_, on_restart="new-epoch"), folder).awaitTermination()
    assert any("rows of a batch are lost" in record.getMessage() for record in caplog.records)
    assert stored(folder) == before + list(range(TOTAL))
