"""What mypy and pyright see of a stream: ``typed_sample.py`` says what they have to see, and what to refuse."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = Path(__file__).with_name("typed_sample.py")
CLAIM = "assert_type(numbers.map(str), Stream[str])"
SECONDS = 300

pytestmark = pytest.mark.timeout(3 * SECONDS)


def test_mypy_sees_the_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    check(tmp_path, "mypy", "--strict", "--no-pretty", f"--cache-dir={tmp_path / '.cache'}", str(tmp_path))


@pytest.mark.slow
def test_pyright_sees_the_types(tmp_path: Path) -> None:
    if find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    started = run("pyright", "--version")
    if started.returncode != 0:
        pytest.skip(f"pyright does not start here: {started.stderr.strip()[-200:]}")
    # In a project of its own: what pyproject.toml says of other files does not concern it.
    (tmp_path / "pyrightconfig.json").write_text(f'{{"extraPaths": ["{ROOT.as_posix()}"]}}', encoding="utf-8")
    check(tmp_path, "pyright", "--pythonpath", sys.executable, "-p", str(tmp_path))


def check(folder: Path, *command: str) -> None:
    """Check the sample, and beside it one with a claim that is wrong, which a checker that looks has to find."""
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
