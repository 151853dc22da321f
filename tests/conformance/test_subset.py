"""A part of the table is judged each time, and must say what the page says."""

from __future__ import annotations

import pytest

from tests.conformance.entry import Entry
from tests.conformance.page import count_in, rows_of_page
from tests.conformance.registry import OURS
from tests.conformance.routes import PYTHON
from tests.conformance.running import TEST_PATIENCE, judge_entry

SUBSET = [entry for entry in OURS if entry.subset]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("entry", SUBSET, ids=lambda entry: entry.name)
def test_a_row_is_as_the_page_says(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyrs.tck import verify

    for variable, value in TEST_PATIENCE.items():
        monkeypatch.setenv(variable, value)
    result = judge_entry(entry, PYTHON, verify)
    assert result.problems(entry) == []
    said = rows_of_page().get(entry.name)  # that no row is missing is another test's
    assert said is None or count_in(said[0]) == sum(result.kit + result.beyond)
