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


TYPED = """
import pyrs
from typing_extensions import assert_type
from collections.abc import Iterator

assert_type(pyrs.from_iterable([1]).map(str), pyrs.Stream[str])
assert_type(pyrs.from_iterable([1]).map(str).filter(bool).take(2), pyrs.Stream[str])
assert_type(pyrs.just(1, 2).collect(), list[int])
assert_type(pyrs.range(3).to_iterable(), Iterator[int])
assert_type(pyrs.range(3).subscribe(on_next=print), pyrs.Subscription)

async def main() -> None:
    async for number in pyrs.range(3):
        assert_type(number, int)
    async with pyrs.just("a").iterate() as words:
        async for word in words:
            assert_type(word, str)

class Numbers(pyrs.Subscriber[int]):
    def on_subscribe(self, subscription: pyrs.Subscription) -> None: ...
    def on_next(self, element: int) -> None: ...
    def on_error(self, error: BaseException) -> None: ...
    def on_complete(self) -> None: ...

pyrs.range(3).subscribe(Numbers())
publisher: pyrs.Publisher[object] = pyrs.range(3)  # covariant
pyrs.just("a").subscribe(Numbers())  # error
"""


def test_mypy_infers_types_and_rejects_a_wrong_subscriber(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    file = tmp_path / "typed.py"
    file.write_text(TYPED)
    # In a separate process, because mypy raises the thresholds of the garbage collector of the process that runs it.
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", f"--cache-dir={tmp_path / 'cache'}"]
    result = subprocess.run([*command, str(file)], cwd=ROOT, capture_output=True, text=True, timeout=100)
    report = result.stdout
    assert result.stderr == ""
    lines = [line for line in report.splitlines() if ": error:" in line]
    wrong = TYPED.splitlines().index('pyrs.just("a").subscribe(Numbers())  # error') + 1
    assert len(lines) == 1, report
    assert f"typed.py:{wrong}: error:" in lines[0]


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
