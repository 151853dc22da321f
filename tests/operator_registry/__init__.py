"""Every operator of ``Stream``, in one registry.

A row contains the documented demand and buffers of an operator, and a sample call. The rows are the source of the table
of all operators in ``docs/operators/index.md``, of the measurement of that table's demand column, of the tests of every
operator (``tests/core/contract/test_every_operator.py``) and of the conformance entries
(``tests/conformance/operators.py``).

``python -m tests.operator_registry`` writes the table into the page.
"""

from __future__ import annotations

from tests.operator_registry.elements import FILTERING, FOLDING, TRANSFORMING
from tests.operator_registry.page import Family
from tests.operator_registry.row import Conformance, Row, Sample, failing, some
from tests.operator_registry.signals import BACKPRESSURE, OBSERVING, RECOVERING, SCHEDULING, TIMING
from tests.operator_registry.streams import COMBINING, FLATTENING, GROUPING, SHARING

__all__ = ["FAMILIES", "ROWS", "SAMPLES", "Conformance", "Family", "Row", "Sample", "failing", "some"]

FAMILIES = (
    Family("transforming", "transforming.md", TRANSFORMING),
    Family("filtering", "filtering.md", FILTERING),
    Family("aggregating", "folding.md", FOLDING),
    Family("combining", "combining.md", COMBINING),
    Family("flattening", "flattening.md", FLATTENING),
    Family("grouping", "grouping.md", GROUPING),
    Family("time", "timing.md", TIMING),
    Family("error handling", "recovering.md", RECOVERING),
    Family("observing", "observing.md", OBSERVING),
    Family("scheduling", "scheduling.md", SCHEDULING),
    Family("back pressure", "backpressure.md", BACKPRESSURE),
    Family("sharing", "sharing.md", SHARING),
)
"""The families in the order of the table."""

ROWS: dict[str, Row] = {row.title: row for family in FAMILIES for row in family.rows}
"""The rows by the first cell of the table."""

SAMPLES: dict[str, Sample] = {name: sample for row in ROWS.values() for name, sample in row.samples.items()}
"""The samples of all operators by name."""
