"""Render the registry as the table of all operators in docs/operators/index.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.operator_registry.row import Row

__all__ = ["PAGE", "Family", "updated"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operators" / "index.md"
BEGIN = "<!-- written by python -m tests.operator_registry -->"
END = "<!-- end of the written table -->"


class Family(NamedTuple):
    """The operators of one page in docs/operators."""

    name: str
    page: str
    rows: Sequence[Row]


def updated(text: str, families: Sequence[Family]) -> str:
    """Return the text of the page with the table of these operators between the markers."""
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return f"{text[:begin]}\n\n{_table(families)}\n{text[end:]}"


def _table(families: Sequence[Family]) -> str:
    lines = ["| operator | demand | a slow Subscriber | holds | family |", "|---|---|---|---|---|"]
    for family in families:
        for row in family.rows:
            lines.append(f"| {row.title} | {row.demand} | {row.slow} | {row.holds} | [{family.name}]({family.page}) |")
    return "\n".join(lines) + "\n"
