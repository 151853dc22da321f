"""The verifications on docs/judge-your-library.md pass with the real libraries."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pytest_processes import pytest_environment

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "judge-your-library.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```python\n# (test_(\w+)\.py)\n", PAGE, re.MULTILINE))
CODE = re.findall(r"^```python\n(# test_\w+\.py\n.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("file", "library"), FILES.items())
def test_the_verification_of_the_page_passes(file: str, library: str, tmp_path: Path) -> None:
    if library != "reactive_streams" and importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    (code,) = (code for code in CODE if code.startswith(f"# {file}"))
    (tmp_path / file).write_text(code, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", "verdicts.xml", file],
        cwd=tmp_path,
        env=pytest_environment(PYTHONPATH=str(ROOT), PYRS_TCK_TIMEOUT_SCALE="2"),
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert re.search(r"38 TCK tests: \d\d passed", ran.stdout)
    assert "warning" not in ran.stdout
    assert (tmp_path / "verdicts.xml").is_file()


def test_the_page_has_a_verification_of_each_library() -> None:
    assert set(FILES.values()) == {"reactive_streams", "aiostream", "reactivex"}
