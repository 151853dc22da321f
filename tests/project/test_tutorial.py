"""docs/tutorial.md: ``python -m pyrs top`` shows the back pressure of step 7.

``test_docs_run.py`` runs the other steps, except the one with Kafka, which tests/interop/systems/test_kafka.py runs.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.project.tutorial import blocks, constant, rows_of, started, top
from tests.waiting import eventually

WINDOW = 16
SECONDS = 240.0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_top_shows_at_most_a_full_window(tmp_path: Path) -> None:
    code, shown = blocks("needs a second terminal")[0], rows_of(blocks("top")[0])[0]
    tables: list[str] = []

    def shows_delivered_elements() -> bool:
        assert process.poll() is None, (tmp_path / "errors.log").read_text()
        tables.append(top(tmp_path))
        return any(row["elements"] != "0" for row in rows_of(tables[-1]))

    with started(code, tmp_path / "slow.py") as process:
        eventually(shows_delivered_elements, lambda: "\n".join(tables[-3:]), SECONDS)
        process.send_signal(signal.SIGINT)
        process.wait(SECONDS)
    [row] = rows_of(tables[-1])
    assert constant(row) == constant(shown)
    assert row["demand"] == shown["demand"]
    assert 0 < int(row["buffered"]) <= int(row["in flight"]) <= WINDOW
    assert 0 < int(shown["buffered"]) <= int(shown["in flight"]) <= WINDOW
