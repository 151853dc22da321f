"""The page says what was measured, with the code as it is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conformance import sources_hash as hashing
from tests.conformance.entry import publisher
from tests.conformance.jvm_parties import JVM_PARTIES
from tests.conformance.mirrors import MIRRORS
from tests.conformance.page import PAGE, hashes_of_page, render, rows_of_page
from tests.conformance.registry import EVERY_ENTRY, OURS, THEIRS, entries_of
from tests.conformance.results import Results
from tests.conformance.routes import IN_SPARK, JAVA_OF_MIRRORS, JAVA_ROUTES, PYTHON, PYTHON_OVER, Route
from tests.conformance.running import Result
from tests.conformance.sources_hash import ROOT, sources_hash, spark_hash
from tests.conformance.spark_streams import SPARK

WANTS_ONE = ("optional_spec105_x", "skipped", "the test needs 1 elements, and the Publisher has at most 0")


def test_the_page_was_measured_with_these_sources_and_has_every_row() -> None:
    assert hashes_of_page() == (sources_hash(), spark_hash()), (
        "docs/conformance.md was measured before the last changes: run `make conformance`, and commit it"
    )
    assert set(EVERY_ENTRY) - set(rows_of_page()) == set()


def test_nothing_of_ours_failed() -> None:
    rows = rows_of_page()
    faulty = [
        entry.name
        for entry in (*OURS, *SPARK, *JVM_PARTIES, *MIRRORS)
        if not entry.faults and "failed" in "".join(rows.get(entry.name, ()))
    ]
    assert faulty == []
    assert "not explained" not in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("routes", [(PYTHON, *JAVA_ROUTES), IN_SPARK, PYTHON_OVER, JAVA_OF_MIRRORS])
def test_every_route_has_judged_its_rows(routes: tuple[Route, ...]) -> None:
    rows = rows_of_page()
    missing = [
        f"{route.title}: {entry.name}"
        for column, route in enumerate(routes)
        for entry in entries_of(route)
        if entry.name in rows and entry not in THEIRS and "passed" not in rows[entry.name][column]
    ]
    assert missing == []


def test_other_libraries_were_judged() -> None:
    rows = rows_of_page()
    assert [entry.name for entry in THEIRS if "passed" not in rows[entry.name][1]] == []


def measured(*notes: tuple[str, str, str]) -> Result:
    failed = sum(status == "failed" for _, status, _ in notes)
    return Result("range", "python", (31 - len(notes), len(notes) - failed, failed), (13, 0, 0), 7, notes, 1.0)


def cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *notes: tuple[str, str, str]) -> list[str]:
    results = Results(tmp_path / "results.json")
    results.add([measured(*notes)])
    page = tmp_path / "page.md"
    page.write_text(render(results), encoding="utf-8")
    monkeypatch.setattr("tests.conformance.page.PAGE", page)
    return rows_of_page()["range"]


def test_a_failure_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = cells(tmp_path, monkeypatch, ("required_x", "failed", "it went wrong"))
    assert row[:2] == ["30 passed, **1 failed**; 13 passed, **not explained**", "—"]


def test_a_skip_without_a_reason_shows_and_one_with_a_reason_has_a_letter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "not explained" in cells(tmp_path, monkeypatch, ("optional_x", "skipped", "for some reason"))[0]
    assert cells(tmp_path, monkeypatch, WANTS_ONE)[0] == "30 passed, 1 skipped; 13 passed (a)"


def test_a_run_that_is_void_is_a_problem() -> None:
    entry = publisher("x", lambda n: None)
    assert measured().problems(entry) == []
    assert measured(("the run", "void", "a test is missing")).problems(entry) == ["void the run: a test is missing"]


def test_results_are_kept_for_the_same_sources_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = Results(tmp_path / "results.json")
    results.add([measured(WANTS_ONE), measured(WANTS_ONE)._replace(route="spark-python", entry="spark.events")])
    results.save()
    assert Results(tmp_path / "results.json").get("python", "range") == measured(WANTS_ONE)
    monkeypatch.setattr("tests.conformance.results.spark_hash", lambda: "another")
    assert Results(tmp_path / "results.json").get("python", "range") == measured(WANTS_ONE)
    assert Results(tmp_path / "results.json").get("spark-python", "spark.events") is None
    monkeypatch.setattr("tests.conformance.results.sources_hash", lambda: "another")
    assert Results(tmp_path / "results.json").get("python", "range") is None


def test_what_only_spark_s_rows_depend_on_makes_no_other_row_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied(tmp_path, monkeypatch)
    before = sources_hash(), spark_hash()
    (tmp_path / "pyrs" / "spark" / "frames.py").write_text("x = 1\n", encoding="utf-8")
    assert (sources_hash() == before[0], spark_hash() == before[1]) == (True, False)
    (tmp_path / "pyrs" / "_core" / "guard.py").write_text("x = 1\n", encoding="utf-8")
    assert (sources_hash() == before[0], spark_hash() == before[1]) == (False, False)


def copied(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the hash taken of a copy."""
    for room in ("pyrs/_core", "pyrs/spark", "tests/conformance", "tests/tck"):
        # Another process may be writing there what it has compiled.
        shutil.copytree(ROOT / room, folder / room, ignore=shutil.ignore_patterns("__pycache__"))
    for file in hashing.FILES:
        shutil.copy(ROOT / "pyrs" / file, folder / "pyrs" / file)
    monkeypatch.setattr(hashing, "ROOT", folder)


@pytest.mark.parametrize(
    ("change", "counts"),
    [("\n# a comment\n", False), ('\n\n"""A text that nothing reads."""\n', False), ("\nx = 1\n", True)],
)
def test_the_hash_sees_code_and_not_what_is_said_about_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, counts: bool
) -> None:
    copied(tmp_path, monkeypatch)
    before = sources_hash()
    with (tmp_path / "pyrs" / "_core" / "guard.py").open("a", encoding="utf-8") as file_:
        file_.write(change)
    assert (sources_hash() != before) is counts
