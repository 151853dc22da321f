"""The published figures of the benchmarks, and the guard that compares new measurements with them."""

from __future__ import annotations

import pytest

from benchmarks import guard, publish
from benchmarks.budgets import Verdict


def test_page_has_the_figures_of_latest_json() -> None:
    page = publish.PAGE.read_text(encoding="utf-8")
    assert publish.render(page, publish.published()) == page, "run `python -m benchmarks all --publish`"


def test_published_figures_include_every_guarded_row() -> None:
    guarded = publish.published()["guarded"]
    assert set(guarded) == {row for rows in guard.GUARDED.values() for row in rows}


def test_guard_ignores_one_slow_run_of_three() -> None:
    assert guard.slower({"map-filter": [2.0, 1.2, 1.25]}, {"map-filter": 1.0}) == []


def test_guard_reports_a_row_that_is_slower_in_two_runs_of_three(capsys: pytest.CaptureFixture[str]) -> None:
    assert guard.report({"map-filter": [2.0, 1.3, 1.0], "to-jvm": [1.0, 1.0, 1.0]}, {"map-filter": 1, "to-jvm": 1}) == 1
    assert "map-filter" in capsys.readouterr().err


def test_guard_reports_a_row_without_a_published_figure() -> None:
    assert guard.slower({"new": [0.1, 0.1, 0.1]}, {}) == ["new"]


def test_guard_measures_each_row_three_times() -> None:
    measured = guard.ratios(
        lambda table, rows: [Verdict(row, "", "", "", "", True, fastest_of_limit=1.5) for row in rows]
    )
    assert [len(values) for values in measured.values()] == [3] * sum(map(len, guard.GUARDED.values()))
    assert guard.medians(measured) == dict.fromkeys(measured, 1.5)


def test_guard_raises_if_a_row_cannot_be_measured() -> None:
    with pytest.raises(RuntimeError, match="map-filter"):
        guard.ratios(lambda table, rows: [Verdict(row, "failed", "", "", "", False) for row in rows])
