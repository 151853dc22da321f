#!/usr/bin/env python3
"""Runs every test suite and closes with one line that counts, read by people and by CI.

Processes: pytest (the core, Spark's gateway, the house), pytest for Spark as the pipeline (a process has one session,
and this one wants four threads for its tasks), pytest for a JVM in the process (it and Python's faulthandler both want
SIGSEGV, so that one runs without it), one for each system that needs no server of its own, and Gradle's TestNG. All
run, whatever the first says.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "build" / "test-reports"
SPARK = "tests/spark"
# All but the first are run by the first process too: the same tests, over the gateway that the process may have.
JPYPE = ("tests/jpype", "tests/interop", "tests/values_e2e", "tests/tck_java", "tests/conformance/test_over_jvm.py")


@dataclass
class Count:
    """What one suite said."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0


def count(reports: list[Path]) -> Count:
    """Adds up JUnit XML reports, pytest's or Gradle's."""
    total = Count()
    for report in reports:
        for suite in ElementTree.parse(report).getroot().iter("testsuite"):
            failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            skipped = int(suite.get("skipped", 0))
            total.failed += failed
            total.skipped += skipped
            total.passed += int(suite.get("tests", 0)) - failed - skipped
    return total


def run(name: str, command: list[str], reports: Path, pattern: str) -> Count:
    """Runs one suite; a process that dies without a report, or fails without a failed test, is one failure."""
    print(f"== {name}: {' '.join(command)}", flush=True)
    shutil.rmtree(reports, ignore_errors=True)
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    total = count(sorted(reports.glob(pattern)))
    if status != 0 and total.failed == 0:
        print(f"== {name}: exited {status} without saying which test failed", flush=True)
        total.failed = 1
    if status == 0 and total.passed == 0:
        print(f"== {name}: no test ran", flush=True)
        total.failed += 1
    return total


def main() -> int:
    """Runs the suites, or those named on the command line; returns 1 when anything failed."""
    pytest = [sys.executable, "-m", "pytest", "-q"]
    suites = {
        "python": ([*pytest, f"--ignore={SPARK}", f"--junitxml={REPORTS}/python/report.xml"], REPORTS / "python"),
        "spark": ([*pytest, f"--junitxml={REPORTS}/spark/report.xml", SPARK], REPORTS / "spark"),
        "jpype": (
            [*pytest, "-p", "no:faulthandler", f"--junitxml={REPORTS}/jpype/report.xml", *JPYPE],
            REPORTS / "jpype",
        ),
        "systems": ([sys.executable, "-m", "tests.interop.systems", "--no-server"], REPORTS / "systems"),
        "java": (
            ["gradle", "-p", "jvm", "--console=plain", "--no-daemon", "-q", "cleanTest", "test"],
            ROOT / "jvm/build/test-results/test",
        ),
    }
    chosen = sys.argv[1:] or list(suites)
    counts = {name: run(name, *suites[name], "*.xml") for name in chosen}
    for name, each in counts.items():
        print(f"{name}: {each.passed} passed, {each.failed} failed, {each.skipped} skipped")
    failed = sum(each.failed for each in counts.values())
    skipped = sum(each.skipped for each in counts.values())
    print(f"{sum(each.passed for each in counts.values())} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
