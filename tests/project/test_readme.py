"""The README's example runs unchanged and prints the output that the README shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.demo.driver import Driver, completed

README = Path(__file__).resolve().parents[2] / "README.md"


def marked(name: str) -> str:
    """Return the fenced block after the comment ``<!-- name -->``."""
    found = re.search(rf"<!-- {name} -->\n```\w+\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found, f"README.md has no block marked {name}"
    return found[1]


def test_example_has_at_most_ten_lines() -> None:
    assert len([line for line in marked("example").splitlines() if line.strip()]) <= 10


@pytest.mark.timeout(1200)
def test_example_prints_the_output_in_the_readme(driver: Driver, tmp_path: Path) -> None:
    program = tmp_path / "example.py"
    program.write_text(marked("example"), encoding="utf-8")
    done = completed(driver, tmp_path, program)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout == marked("output")
