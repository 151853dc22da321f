"""The README's example runs unchanged and prints the output that the README shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"


def marked(name: str) -> str:
    """Return the fenced block after the comment ``<!-- name -->``."""
    found = re.search(rf"<!-- {name} -->\n```\w+\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found, f"README.md has no block marked {name}"
    return found[1]


def test_example_has_at_most_ten_lines() -> None:
    assert len([line for line in marked("example").splitlines() if line.strip()]) <= 10


@pytest.mark.timeout(700)
def test_example_prints_the_output_in_the_readme(tmp_path: Path) -> None:
    program = tmp_path / "example.py"
    program.write_text(marked("example"), encoding="utf-8")
    # In an empty folder: Spark writes files to its working directory.
    done = subprocess.run(
        [sys.executable, program], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout == marked("output")
