"""A query, and then the whole driver, ends at each step of a micro-batch: nothing is lost, and nothing comes twice.

``PYRS_EVERY_STEP=1 pytest tests/spark/test_read_stream_killed.py`` is the nightly run.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark.sql.streaming.datasource", reason="Spark 4.2 says where a query begins")

from tests.spark.mortal import STEPS, TOTAL, failing_at, read, read_guarded, start, stored

NIGHTLY = bool(os.environ.get("PYRS_EVERY_STEP"))
"""A driver takes seconds to start. So each time there is every step once, and one step of what is near to that."""

FAILED = [(step, "rows") for step in STEPS] + [("read", "arrow")]
KILLED = [(step, "rows", "journal") for step in STEPS] + [
    ("planning", "arrow", "journal"),
    ("commit", "rows", "function"),
]
if NIGHTLY:
    FAILED = [(step, as_) for as_ in ("rows", "arrow") for step in STEPS]
    KILLED = [(step, as_, kept) for kept in ("journal", "function") for as_ in ("rows", "arrow") for step in STEPS]


@pytest.mark.parametrize(("step", "as_"), FAILED)
def test_a_query_that_fails_at_a_step_goes_on_where_it_was(spark: Any, tmp_path: Path, step: str, as_: str) -> None:
    folder, marker = tmp_path / "stored", str(tmp_path / "failed")

    def fail() -> None:
        import os

        if not os.path.exists(marker):
            open(marker, "w").close()
            raise RuntimeError(f"failed at {step}")

    df = read_guarded(read(spark, as_), step, fail)
    undo = failing_at(step, fail)
    try:
        with pytest.raises(Exception, match=f"failed at {step}"):
            start(df, folder, step, fail).awaitTermination()
    finally:
        undo()
    assert len(stored(folder)) < TOTAL
    start(df, folder).awaitTermination()
    assert stored(folder) == list(range(TOTAL))


def killed(folder: Path, step: str, as_: str, kept: str) -> list[int]:
    """What a driver has stored that was killed at this step."""
    folder.mkdir()
    command = [sys.executable, "-m", "tests.spark.mortal", str(folder), step, as_, kept]
    # Nothing is captured: Spark's workers are a group of their own, and have the pipe a while longer.
    ended = subprocess.run(command, start_new_session=True, timeout=300, check=False)
    assert ended.returncode == -signal.SIGKILL
    before = stored(folder)
    assert before == list(range(len(before))) and len(before) < TOTAL
    return before


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize(("step", "as_", "kept"), KILLED)
def test_a_driver_that_is_killed_at_a_step_loses_nothing(
    spark: Any, tmp_path: Path, step: str, as_: str, kept: str
) -> None:
    """With a journal, or of a publisher that can go back."""
    folder = tmp_path / "stored"
    killed(folder, step, as_, kept)
    journal = folder / "journal" if kept == "journal" else None
    start(read(spark, as_, journal, on_restart=True), folder).awaitTermination()
    assert stored(folder) == list(range(TOTAL))


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.skipif(not NIGHTLY, reason="make nightly")
@pytest.mark.parametrize("as_", ["rows", "arrow"])
def test_a_driver_that_is_killed_without_either_loses_what_it_held_and_says_so(
    spark: Any, tmp_path: Path, as_: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "stored"
    before = killed(folder, "planning", as_, "nothing")
    with pytest.raises(Exception, match=r"OffsetRefused: .*whose process has ended, and what it held"):
        start(read(spark, as_), folder).awaitTermination()
    assert stored(folder) == before
    with caplog.at_level(logging.ERROR, "pyrs.spark"):
        start(read(spark, as_, on_restart="new-epoch"), folder).awaitTermination()
    assert any("rows of a batch are lost" in record.getMessage() for record in caplog.records)
    assert stored(folder) == before + list(range(TOTAL))
