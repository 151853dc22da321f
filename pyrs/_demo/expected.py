"""Compare the demo's counts with Spark SQL's; the result is the exit status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyrs._demo.stages import KEEP_FROM


@dataclass(frozen=True)
class ExpectedCounts:
    """Counts and sums of one pass over the file, computed by Spark SQL."""

    lines: int
    stars: float
    kept: int
    kept_stars: float


@dataclass(frozen=True)
class Check:
    """One measured number and its expected value."""

    what: str
    got: float
    expected: float

    @property
    def right(self) -> bool:
        """Return True if the measured number equals the expected one."""
        return self.got == self.expected

    def __str__(self) -> str:
        return f"{self.what}: {self.got:,g}" + ("" if self.right else f", and Spark says {self.expected:,g}")


def expected_of(table: Any) -> ExpectedCounts:
    """Let Spark count and sum the lines in the DataFrame's column ``value``."""
    stars = "double(split(value, '::')[2])"
    kept = f"{stars} >= {KEEP_FROM}"
    row = table.selectExpr("count(*)", f"sum({stars})", f"count_if({kept})", f"sum(if({kept}, {stars}, 0))").first()
    return ExpectedCounts(*row)
