"""The scripts behind ``make``: messages for missing tools, and the count of the test suites."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]

REPORT = """
from pathlib import Path
folder = Path({folder!r})
folder.mkdir(parents=True)
(folder / "report.xml").write_text(
    '<testsuites><testsuite tests="{tests}" failures="{failures}" errors="0" skipped="{skipped}"/></testsuites>'
)
raise SystemExit({status})
"""


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("suite_runner", ROOT / ".ci" / "test.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up their module
    spec.loader.exec_module(module)
    return module


def suite(folder: Path, status: int, tests: int, failures: int = 0, skipped: int = 0) -> list[str]:
    program = REPORT.format(folder=str(folder), tests=tests, failures=failures, skipped=skipped, status=status)
    return [sys.executable, "-c", program]


@pytest.mark.parametrize(
    ("status", "tests", "failures", "skipped", "expected"),
    [
        (0, 5, 0, 1, (4, 0, 1)),
        (1, 5, 2, 0, (3, 2, 0)),
        (1, 5, 0, 0, (5, 1, 0)),  # a crash at exit: the process failed and no test did
        (0, 0, 0, 0, (0, 1, 0)),  # no test ran
        (0, 3, 0, 3, (0, 1, 3)),  # every test was skipped
    ],
)
def test_suite_counts(
    runner: ModuleType,
    tmp_path: Path,
    status: int,
    tests: int,
    failures: int,
    skipped: int,
    expected: tuple[int, int, int],
) -> None:
    reports = tmp_path / "reports"
    counted = runner.run("suite", suite(reports, status, tests, failures, skipped), reports, "*.xml")
    assert (counted.passed, counted.failed, counted.skipped) == expected


def test_process_killed_before_its_report_is_a_failure(runner: ModuleType, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]
    counted = runner.run("suite", command, tmp_path / "reports", "*.xml")
    assert (counted.passed, counted.failed) == (0, 1)


def test_report_of_an_earlier_run_is_not_counted(runner: ModuleType, tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    runner.run("suite", suite(reports, 0, 7), reports, "*.xml")
    counted = runner.run("suite", [sys.executable, "-c", "raise SystemExit(1)"], reports, "*.xml")
    assert (counted.passed, counted.failed) == (0, 1)


def system_packages(folder: Path, tools: list[str]) -> subprocess.CompletedProcess[str]:
    """Run the script with only these tools on PATH."""
    for tool in tools:
        found = shutil.which(tool)
        assert found, tool
        (folder / tool).symlink_to(found)
    return subprocess.run(
        [shutil.which("bash") or "bash", ROOT / ".ci" / "system-packages"],
        env={"PATH": str(folder), "HOME": os.environ.get("HOME", "/")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_missing_tools_are_listed_in_one_line_without_apt(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to(sys.executable)
    done = system_packages(tmp_path, ["sed", "id"])
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "a JDK, 17 or later; Gradle" in done.stderr


def test_complete_machine_prints_nothing(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to(sys.executable)
    done = system_packages(tmp_path, ["sed", "id", "javac", "gradle"])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
