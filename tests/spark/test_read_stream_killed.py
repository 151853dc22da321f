"""A query, and then the whole driver, ends at each step of a micro-batch: nothing is lost, and nothing comes twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark.sql.streaming.datasource", reason="Spark 4.2 says where a query begins")

from pyrs import spark as ps
from tests.spark.mortal import MAX_ROWS, STEPS, TOTAL, failing_at, numbers, read_guarded, start, stored


@pytest.mark.parametrize("step", STEPS)
def test_a_query_that_fails_at_a_step_goes_on_where_it_was(spark: Any, tmp_path: Path, step: str) -> None:
    folder, marker = tmp_path / "stored", str(tmp_path / "failed")

    def fail() -> None:
        import os

        if not os.path.exists(marker):
            open(marker, "w").close()
            raise RuntimeError(f"failed at {step}")

    df = read_guarded(ps.read_stream(spark, numbers(), "n long", MAX_ROWS), step, fail)
    undo = failing_at(step, fail)
    try:
        with pytest.raises(Exception, match=f"failed at {step}"):
            start(df, folder, step, fail).awaitTermination()
    finally:
        undo()
    assert len(stored(folder)) < TOTAL
    start(df, folder).awaitTermination()
    assert stored(folder) == list(range(TOTAL))


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("step", STEPS)
def test_a_driver_that_is_killed_at_a_step_loses_nothing_with_a_journal(spark: Any, tmp_path: Path, step: str) -> None:
    folder = tmp_path / "stored"
    folder.mkdir()
    command = [sys.executable, "-m", "tests.spark.mortal", str(folder), step]
    # Nothing is captured: Spark's workers are a group of their own, and have the pipe a while longer.
    killed = subprocess.run(command, start_new_session=True, timeout=300, check=False)
    assert killed.returncode == -signal.SIGKILL
    before = stored(folder)
    assert before == list(range(len(before))) and len(before) < TOTAL
    df = ps.read_stream(spark, numbers(), "n long", MAX_ROWS, on_restart=numbers, journal=folder / "journal")
    start(df, folder).awaitTermination()
    assert stored(folder) == list(range(TOTAL))
