"""The page docs/conformance.md: its measurement had no problem, and its generator shows problems.

The page names the commit that it was measured at. It is measured for each release (`make release-check`), so rows of
operators that were added since then are not on it yet.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.conformance import sources_hash as hashing
from tests.conformance.entry import publisher
from tests.conformance.jvm_implementations import JVM_IMPLEMENTATIONS
from tests.conformance.mirrors import MIRRORS
from tests.conformance.page import PAGE, commit_of_page, render, rows_of_page
from tests.conformance.registry import OURS, THIRD_PARTY_ENTRIES, entries_of
from tests.conformance.results import Results
from tests.conformance.routes import IN_SPARK, JAVA_OF_MIRRORS, JAVA_ROUTES, PYTHON, PYTHON_OVER, Route
from tests.conformance.running import Result
from tests.conformance.sources_hash import ROOT, current_commit, sources_hash, spark_hash
from tests.conformance.spark_streams import SPARK

NEEDS_ONE = ("optional_spec105_x", "skipped", "the test needs 1 elements, but the Publisher has at most 0")


def test_the_page_names_the_commit_of_its_measurement() -> None:
    commit = commit_of_page()
    assert re.fullmatch("[0-9a-f]{7,}( and [0-9a-f]{7,})?", commit), f"uncommitted changes were measured: {commit!r}"


def test_no_row_of_pyrs_has_a_failure() -> None:
    rows = rows_of_page()
    faulty = [
        entry.name
        for entry in (*OURS, *SPARK, *JVM_IMPLEMENTATIONS, *MIRRORS)
        if not entry.faults and "failed" in "".join(rows.get(entry.name, ()))
    ]
    assert faulty == []
    assert "not explained" not in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("routes", [(PYTHON, *JAVA_ROUTES), IN_SPARK, PYTHON_OVER, JAVA_OF_MIRRORS])
def test_every_route_has_verified_its_rows(routes: tuple[Route, ...]) -> None:
    rows = rows_of_page()
    missing = [
        f"{route.title}: {entry.name}"
        for column, route in enumerate(routes)
        for entry in entries_of(route)
        if entry.name in rows and entry not in THIRD_PARTY_ENTRIES and "passed" not in rows[entry.name][column]
    ]
    assert missing == []


def test_third_party_libraries_were_verified() -> None:
    rows = rows_of_page()
    assert [
        entry.name for entry in THIRD_PARTY_ENTRIES if entry.name in rows and "passed" not in rows[entry.name][1]
    ] == []


def measured(*notes: tuple[str, str, str]) -> Result:
    failed = sum(status == "failed" for _, status, _ in notes)
    return Result("range", "python", (31 - len(notes), len(notes) - failed, failed), (13, 0, 0), 7, notes, 1.0)


def cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *notes: tuple[str, str, str]) -> list[str]:
    results = Results(tmp_path / "results.json")
    results.add([measured(*notes)])
    page = tmp_path / "page.md"
    page.write_text(render(results), encoding="utf-8")
    monkeypatch.setattr("tests.conformance.page.PAGE", page)
    assert commit_of_page() == current_commit()
    return rows_of_page()["range"]


def test_the_page_shows_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = cells(tmp_path, monkeypatch, ("required_x", "failed", "it went wrong"))
    assert row[:2] == ["30 passed, **1 failed**; 13 passed, **not explained**", "—"]


def test_the_page_shows_a_letter_for_an_explained_skip_and_marks_an_unexplained_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "not explained" in cells(tmp_path, monkeypatch, ("optional_x", "skipped", "for some reason"))[0]
    assert cells(tmp_path, monkeypatch, NEEDS_ONE)[0] == "30 passed, 1 skipped; 13 passed (a)"


def test_a_void_run_is_a_problem() -> None:
    entry = publisher("x", lambda n: None)
    assert measured().problems(entry) == []
    assert measured(("the run", "void", "a test is missing")).problems(entry) == ["void the run: a test is missing"]


def test_results_are_kept_for_the_same_sources_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = Results(tmp_path / "results.json")
    results.add([measured(NEEDS_ONE), measured(NEEDS_ONE)._replace(route="spark-python", entry="spark.events")])
    results.save()
    assert Results(tmp_path / "results.json").get("python", "range") == measured(NEEDS_ONE)
    monkeypatch.setattr("tests.conformance.results.spark_hash", lambda: "another")
    assert Results(tmp_path / "results.json").get("python", "range") == measured(NEEDS_ONE)
    assert Results(tmp_path / "results.json").get("spark-python", "spark.events") is None
    monkeypatch.setattr("tests.conformance.results.sources_hash", lambda: "another")
    assert Results(tmp_path / "results.json").get("python", "range") is None


def test_kept_results_keep_the_commit_of_their_measurement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.conformance.results.current_commit", lambda: "aaaaaaa")
    Results(tmp_path / "results.json").save()
    monkeypatch.setattr("tests.conformance.results.current_commit", lambda: "bbbbbbb")
    assert Results(tmp_path / "results.json").commit == "aaaaaaa"
    monkeypatch.setattr("tests.conformance.results.spark_hash", lambda: "another")
    assert Results(tmp_path / "results.json").commit == "aaaaaaa and bbbbbbb"


def test_a_change_in_pyrs_spark_affects_spark_s_rows_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied(tmp_path, monkeypatch)
    before = sources_hash(), spark_hash()
    (tmp_path / "pyrs" / "spark" / "another_file.py").write_text("x = 1\n", encoding="utf-8")
    assert (sources_hash() == before[0], spark_hash() == before[1]) == (True, False)
    (tmp_path / "pyrs" / "_core" / "another_file.py").write_text("x = 1\n", encoding="utf-8")
    assert (sources_hash() == before[0], spark_hash() == before[1]) == (False, False)


def copied(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute the hashes from a copy of the sources."""
    for package in ("pyrs/_core", "pyrs/spark", "tests/conformance", "tests/operator_registry", "tests/tck"):
        # Another process may be writing its compiled modules there.
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    for path in filter(lambda path: (ROOT / path).is_dir(), hashing.SOURCES):
        (folder / path).mkdir(parents=True, exist_ok=True)  # empty, if it was not copied
    for file in hashing.FILES:
        shutil.copy(ROOT / "pyrs" / file, folder / "pyrs" / file)
    (folder / "pyrs" / "_core" / "changed.py").write_text("y = 1\n", encoding="utf-8")
    monkeypatch.setattr(hashing, "ROOT", folder)


@pytest.mark.parametrize(
    ("change", "counts"),
    [("\n# a comment\n", False), ('\n\n"""A string that nothing reads."""\n', False), ("\nx = 1\n", True)],
)
def test_the_hash_covers_code_but_not_comments_and_docstrings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, counts: bool
) -> None:
    copied(tmp_path, monkeypatch)
    before = sources_hash()
    with (tmp_path / "pyrs" / "_core" / "changed.py").open("a", encoding="utf-8") as file:
        file.write(change)
    assert (sources_hash() != before) is counts
