"""The guard against slowdowns: measure ten rows in the quick form, and compare them with the published figures.

The compared figure is the time of pyrs divided by that of the contender "limit" in the same run (for the core, plain
iterators). It depends little on the machine. The fastest repetitions are compared, because other processes and the
placement of threads on two cores only add time: medians of a row with two busy processes varied by a factor of two. A
row fails only if it is more than 25 % worse in two runs of three.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from benchmarks.budgets import Verdict

GUARDED: Mapping[str, Sequence[str]] = {
    "core": ("map-filter", "map-filter-1", "ten-maps", "multicast", "flat-map"),
    "bridge": ("to-python-256", "to-python-1", "to-jvm", "records-to-python", "jpype"),
}
ALLOWED = 1.25
_RUNS = 3

Measure = Callable[[str, Sequence[str]], Sequence[Verdict]]


def ratios(measure: Measure) -> dict[str, list[float]]:
    """Measure every guarded row three times; return its three ratios of pyrs to the contender "limit".

    Args:
        measure: measures rows of a table in the quick form.

    Raises:
        RuntimeError: a row could not be measured.
    """
    found: dict[str, list[float]] = {}
    for _ in range(_RUNS):
        for table, rows in GUARDED.items():
            once = {
                verdict.row: verdict.fastest_of_limit for verdict in measure(table, rows) if verdict.fastest_of_limit
            }
            if missing := set(rows) - set(once):
                raise RuntimeError(f"no ratio to the limit was measured for {', '.join(sorted(missing))}")
            for row, ratio in once.items():
                found.setdefault(row, []).append(ratio)
    return found


def medians(measured: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the median ratio of each row, which ``--publish`` stores as the reference."""
    return {row: round(median(values), 3) for row, values in measured.items()}


def slower(measured: Mapping[str, Sequence[float]], reference: Mapping[str, float]) -> list[str]:
    """Return the rows that were more than 25 % worse than the reference in two runs of three."""
    return [row for row, values in measured.items() if sorted(values)[1] > ALLOWED * reference.get(row, 0.0)]


def report(measured: Mapping[str, Sequence[float]], reference: Mapping[str, float]) -> int:
    """Print each row; return 1 if a row is slower."""
    failed = slower(measured, reference)
    for row, values in measured.items():
        runs = ", ".join(f"{value:.2f}" for value in values)
        published = reference.get(row)
        known = "no published figure" if published is None else f"published {published:.2f}"
        print(f"{row:20} {runs} x limit; {known}{'; SLOWER' if row in failed else ''}")
    if failed:
        print(f"\nMore than 25 % slower in two runs of three: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))
