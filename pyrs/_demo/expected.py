"""What Spark itself says about the ratings, and the comparison that decides the demo's exit status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyrs._demo.stages import KEEP_FROM


@dataclass(frozen=True)
class Expected:
    """Counts and sums of one lap, by Spark's SQL over the same file."""

    lines: int
    stars: float
    kept: int
    kept_stars: float


@dataclass(frozen=True)
class Check:
    """One number of the demo and what it must be."""

    what: str
    got: float
    expected: float

    @property
    def right(self) -> bool:
        """Whether they are the same."""
        return self.got == self.expected

    def __str__(self) -> str:
        return f"{self.what}: {self.got:,g}" + ("" if self.right else f", and Spark says {self.expected:,g}")


def expected_of(table: Any) -> Expected:
    """Has Spark count and add up the lines, in the DataFrame's one column ``value``."""
    stars = "double(split(value, '::')[2])"
    kept = f"{stars} >= {KEEP_FROM}"
    row = table.selectExpr("count(*)", f"sum({stars})", f"count_if({kept})", f"sum(if({kept}, {stars}, 0))").first()
    return Expected(*row)
