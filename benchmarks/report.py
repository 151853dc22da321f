"""Reports as a table on the terminal and as JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.budgets import Verdict

_HEADINGS = ("row", "ours", "rival", "ratio", "budget", "verdict", "x limit")


def table(verdicts: Sequence[Verdict]) -> str:
    """Format the verdicts as an aligned table, followed by notes on failures and on memory."""
    lines = [_HEADINGS, *(_cells(verdict) for verdict in verdicts)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADINGS))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    text.insert(1, "  ".join("-" * width for width in widths))
    notes = [f"  {verdict.row}: {verdict.note}" for verdict in verdicts if verdict.note and _needs_note(verdict)]
    return "\n".join([*text, *(["", "notes", *notes] if notes else [])])


def machine() -> str:
    """Describe the machine."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{os.cpu_count()} processors, {python}, {platform.system()}"


def write_json(path: Path, verdicts: Sequence[Verdict]) -> None:
    """Write the machine and the verdicts."""
    document = {"machine": machine(), "verdicts": [asdict(verdict) for verdict in verdicts]}
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def read_json(path: Path) -> list[Verdict]:
    """Read the verdicts that ``write_json`` wrote."""
    return [Verdict(**fields) for fields in json.loads(path.read_text(encoding="utf-8"))["verdicts"]]


def _cells(verdict: Verdict) -> tuple[str, ...]:
    of_limit = "" if verdict.of_limit is None else f"{verdict.of_limit:.2f}"
    return (
        verdict.row,
        verdict.ours,
        verdict.rival,
        verdict.ratio,
        verdict.budget,
        "ok" if verdict.passed else "MISSED",
        of_limit,
    )


def _needs_note(verdict: Verdict) -> bool:
    return not verdict.passed or "MB" in verdict.ours
