"""The types that mypy and pyright infer: ``typed_sample.py`` lists the expected types and the expected errors."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = Path(__file__).with_name("typed_sample.py")
CLAIM = "assert_type(numbers.map(str), Stream[str])"
SECONDS = 300

pytestmark = pytest.mark.timeout(3 * SECONDS)


def test_mypy_accepts_the_sample(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    check(tmp_path, "mypy", "--strict", "--no-pretty", f"--cache-dir={tmp_path / '.cache'}", str(tmp_path))


@pytest.mark.slow
def test_pyright_accepts_the_sample(tmp_path: Path) -> None:
    """The mode "standard" of basedpyright, a fork of pyright that pip installs with Node, has the rules of pyright."""
    pytest.importorskip("basedpyright")
    # A separate project, to which the settings of pyproject.toml do not apply.
    settings = {"extraPaths": [str(ROOT)], "typeCheckingMode": "standard"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    check(tmp_path, "basedpyright", "--pythonpath", sys.executable, "-p", str(tmp_path))


def check(folder: Path, *command: str) -> None:
    """Check the sample, and a copy with one wrong assertion: a checker that ignores the files must fail the test."""
    text = SAMPLE.read_text(encoding="utf-8")
    line = text.splitlines().index(CLAIM) + 1
    (folder / "right.py").write_text(text, encoding="utf-8")
    (folder / "wrong.py").write_text(text.replace(CLAIM, CLAIM.replace("Stream[str]", "Stream[int]")), encoding="utf-8")
    done = run(*command)
    assert re.findall(r"(\w+\.py):(\d+):.*error", done.stdout) == [("wrong.py", str(line))], done.stdout + done.stderr


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False
    )
