"""Verify the rows marked ``subset`` with the Python port in every run of the test suite.

The subset has one row for each mechanism: a source over an iterable, the emitter, coroutines, a merged source, three
sinks, a fused and a pushed operator, inner streams, a change of thread, the two kinds of Processor, the strict guards,
four kinds of Subscriber, and two adapters. ``make conformance`` verifies all rows; ``python -m tests.conformance NAME``
verifies the rows whose names begin with NAME.
"""

from __future__ import annotations

import pytest

from tests.conformance.entry import Entry
from tests.conformance.registry import OURS
from tests.conformance.routes import PYTHON
from tests.conformance.running import TEST_LONG_RUN, TEST_PATIENCE, Result, verify_all

SUBSET = [entry for entry in OURS if entry.subset]


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    names = [entry.name for entry in SUBSET]
    return {result.entry: result for result in verify_all(PYTHON, names, TEST_PATIENCE, TEST_LONG_RUN)}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("entry", SUBSET, ids=lambda entry: entry.name)
def test_a_row_of_the_subset_has_no_problem(entry: Entry, results: dict[str, Result]) -> None:
    result = results[entry.name]
    assert result.problems(entry) == []
    assert sum(result.tck) + result.untested == len(entry.verification.expected)
    assert sum(result.tck + result.beyond) + result.untested == len(entry.verification.test_names())
