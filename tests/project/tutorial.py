"""Run the two programs of docs/tutorial.md, and read the output of ``top``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tutorial.md"
COUNTERS = ("demand", "in flight", "buffered", "elements", "rate/s")
"""The columns that differ between two runs."""


def blocks(comment: str) -> list[str]:
    """Return the code blocks of the page that directly follow this HTML comment."""
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"^<!-- {comment} -->\n```\w+\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a program whose status files are in a folder."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", "XDG_RUNTIME_DIR": str(folder)}


@contextmanager
def started(code: str, program: Path) -> Iterator[subprocess.Popen[str]]:
    """Run the code as a program until the ``with`` block ends.

    The program writes its output to ``output.log`` and ``errors.log``.
    """
    program.write_text(code, encoding="utf-8")
    folder = program.parent
    with (folder / "output.log").open("w") as output, (folder / "errors.log").open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, program.name], cwd=folder, env=environment(folder), stdout=output, stderr=errors, text=True
        )
    with process:
        try:
            yield process
        finally:
            process.kill()


def ended_within(process: subprocess.Popen[str], seconds: float) -> bool:
    """Wait for the end of a program; return whether it has ended."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.returncode is not None


def top(folder: Path) -> str:
    """Return the output of ``python -m pyrs top --once`` in the folder of a program."""
    command = [sys.executable, "-m", "pyrs", "top", "--once"]
    done = subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=120, check=False
    )
    return done.stdout


def rows_of(table: str) -> list[dict[str, str]]:
    """Return the rows of a table of ``top`` as dicts from column name to value."""
    _, *lines = table.splitlines()
    names, *rows = [re.split(r" {2,}", line.strip()) for line in lines] or [[]]
    return [dict(zip(names, row, strict=True)) for row in rows if len(row) > 1]


def constant(row: dict[str, str]) -> dict[str, str]:
    """Return a row without its counters and without the number of its Publisher."""
    return {
        name: re.sub(r"\d+", "", value) if name == "publisher" else value
        for name, value in row.items()
        if name not in COUNTERS
    }
