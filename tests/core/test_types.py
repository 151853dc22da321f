"""What mypy and pyright see of a stream: ``typed_sample.py`` says what they have to see, and what to refuse."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = Path(__file__).with_name("typed_sample.py")
CLAIM = "assert_type(numbers.map(str), Stream[str])"


@pytest.fixture(params=["as it stands", "with a mistake"])
def sample(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, bool]:
    """The sample, and once more with a claim that is wrong, which a checker that looks has to find."""
    text = SAMPLE.read_text(encoding="utf-8")
    assert CLAIM in text
    wrong = text.replace(CLAIM, "assert_type(numbers.map(str), Stream[int])")
    right = request.param == "as it stands"
    file = tmp_path / "sample.py"
    file.write_text(text if right else wrong, encoding="utf-8")
    return file, right


def check(command: list[str], right: bool) -> None:
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)
    if right:
        assert run.returncode == 0, run.stdout + run.stderr
    else:
        line = SAMPLE.read_text(encoding="utf-8").splitlines().index(CLAIM) + 1
        assert run.returncode == 1 and f"sample.py:{line}:" in run.stdout, run.stdout + run.stderr
        assert run.stdout.count("sample.py:") == 1, run.stdout


def test_mypy_sees_the_types(sample: tuple[Path, bool]) -> None:
    pytest.importorskip("mypy")
    file, right = sample
    cache = ROOT / ".mypy_cache" / "tests"
    check([sys.executable, "-m", "mypy", "--strict", "--no-pretty", f"--cache-dir={cache}", str(file)], right)


@pytest.mark.slow
def test_pyright_sees_the_types(sample: tuple[Path, bool]) -> None:
    if find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    started = subprocess.run(
        [sys.executable, "-m", "pyright", "--version"], capture_output=True, text=True, timeout=100, check=False
    )
    if started.returncode != 0:
        pytest.skip(f"pyright does not start here: {started.stderr.strip()[-200:]}")
    file, right = sample
    # In a project of its own: what pyproject.toml says of other files does not concern it.
    (file.parent / "pyrightconfig.json").write_text(f'{{"extraPaths": ["{ROOT.as_posix()}"]}}', encoding="utf-8")
    check([sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "-p", str(file.parent)], right)
