#!/usr/bin/env python3
"""Runs every test suite and closes with one line that counts, read by people and by CI.

Processes: pytest (the core, Spark's gateway, the project), pytest for Spark as the pipeline (a process has one session,
and this one wants four threads for its tasks), pytest for a JVM in the process (it and Python's faulthandler both want
SIGSEGV, so that one runs without it), one for each system that needs no server of its own, Gradle's TestNG, and three
of pytest for the referees. These three run side by side, and beside nothing else: nine tenths of a verification is
waiting for what must not come. All run, whatever the first says.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "build" / "test-reports"
SPARK = "tests/spark"
CONFORMANCE = ("tests/conformance",)
REFEREES = ("tests/tck", "tests/tck_java")
# All but the first of these are run over Spark's gateway too: the same tests, over the JVM that the process may have.
JPYPE = ("tests/jpype", "tests/interop", "tests/values_e2e")
REFEREES_JPYPE = ("tests/tck_java", "tests/conformance/test_over_jvm.py")
WAITING = ("conformance", "referees", "referees-jpype")

Suite = tuple[list[str], Path]
"""A command, and the folder in which it leaves its reports."""


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


def run(name: str, command: list[str], reports: Path, pattern: str, *, beside_others: bool = False) -> Count:
    """Runs one suite; a process that dies without a report, or fails without a failed test, is one failure.

    What a suite beside others prints is shown whole when it is over.
    """
    heading = f"== {name}: {' '.join(command)}"
    shutil.rmtree(reports, ignore_errors=True)
    if beside_others:
        ended = subprocess.run(
            command, cwd=ROOT, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace"
        )
        print(f"{heading}\n{ended.stdout}", end="", flush=True)
    else:
        print(heading, flush=True)
        ended = subprocess.run(command, cwd=ROOT, check=False, text=True)
    status = ended.returncode
    total = count(sorted(reports.glob(pattern)))
    if status != 0 and total.failed == 0:
        print(f"== {name}: exited {status} without saying which test failed", flush=True)
        total.failed = 1
    if status == 0 and total.passed == 0:
        print(f"== {name}: no test ran", flush=True)
        total.failed += 1
    return total


def run_side_by_side(suites: dict[str, Suite]) -> dict[str, Count]:
    """Runs suites that mostly wait, all at once."""
    print(f"== side by side: {', '.join(suites)}", flush=True)
    with ThreadPoolExecutor(len(suites)) as pool:
        running = {name: pool.submit(run, name, *suite, "*.xml", beside_others=True) for name, suite in suites.items()}
    return {name: each.result() for name, each in running.items()}


def pytest(name: str, *arguments: str) -> Suite:
    """A suite of pytest's."""
    reports = REPORTS / name
    return [sys.executable, "-m", "pytest", "-q", f"--junitxml={reports}/report.xml", *arguments], reports


def arguments(suites: Sequence[str], words: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog=".ci/test.py")
    parser.add_argument("--all", action="store_true", help="run the campaigns and the nightly forms as well")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(suites)}")
    options = parser.parse_args(words)
    unknown = [name for name in options.suites if name not in suites]
    if unknown:
        parser.error(f"no such suite: {', '.join(unknown)}")
    return options


def main(words: Sequence[str] | None = None) -> int:
    """Run all suites, or those named on the command line; return 1 if anything failed."""
    without_faulthandler = ("-p", "no:faulthandler")
    suites: dict[str, Suite] = {
        "python": pytest("python", *(f"--ignore={folder}" for folder in (SPARK, *CONFORMANCE, *REFEREES))),
        "spark": pytest("spark", SPARK),
        "jpype": pytest("jpype", *without_faulthandler, *JPYPE),
        "conformance": pytest("conformance", *CONFORMANCE),
        "referees": pytest("referees", *REFEREES),
        "referees-jpype": pytest("referees-jpype", *without_faulthandler, *REFEREES_JPYPE),
        "systems": ([sys.executable, "-m", "tests.interop.systems", "--no-server"], REPORTS / "systems"),
        "java": (
            ["gradle", "-p", "jvm", "--console=plain", "--no-daemon", "-q", "cleanTest", "test"],
            ROOT / "jvm/build/test-results/test",
        ),
    }
    chains, chain_reports = pytest("chains", "tests/core/test_properties.py", "--timeout=3600")
    nightly: dict[str, Suite] = {"chains": (["env", "PYRS_EXAMPLES=10000", *chains], chain_reports)}
    options = arguments([*suites, *nightly], words)
    if options.all:
        os.environ["PYRS_CAMPAIGN"] = "1"
        os.environ["PYRS_EVERY_STEP"] = "1"
    known = suites | nightly if options.all else suites
    chosen = {name: (suites | nightly)[name] for name in options.suites or known}
    waiting = {name: suite for name, suite in chosen.items() if name in WAITING}
    counts = {name: run(name, *suite, "*.xml") for name, suite in chosen.items() if name not in WAITING}
    if waiting:
        counts |= run_side_by_side(waiting)
    for name, each in counts.items():
        print(f"{name}: {each.passed} passed, {each.failed} failed, {each.skipped} skipped")
    failed = sum(each.failed for each in counts.values())
    skipped = sum(each.skipped for each in counts.values())
    print(f"{sum(each.passed for each in counts.values())} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
