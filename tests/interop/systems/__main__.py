"""Every system against its real component: ``python -m tests.interop.systems [NAME ...]``.

Each runs in a process of its own for each of its gateways, because a process has one JVM and a JVM one class path. A
test that is skipped counts as failed: what cannot run is a row that says so.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pyrs.errors import JvmUnavailable
from pyrs.jvm.packages import resolve
from tests.interop.systems import page
from tests.interop.systems.system import FOLDER, ROOT, System, load, names

REPORTS = ROOT / "build" / "test-reports" / "systems"
LONGEST_SECONDS = 900
PAUSES_SECONDS = (5.0, 30.0)
"""Before each further attempt to fetch what a repository does not give, or gives too slowly."""


class Result(NamedTuple):
    """What one process said."""

    passed: int
    failed: int
    seconds: float


def prepare(name: str, system: System) -> bool:
    """Fetches and installs what the tests would, here where it is seen to happen; whether that could be done."""
    try:
        fetch([*system.packages, *system.test_packages])
        if system.install is not None:
            system.install()
    except Exception as error:  # the other systems run all the same
        print(f"== {name}: {error}", flush=True)
        return False
    return True


def fetch(packages: Sequence[str]) -> None:
    """Has the jars in the cache. A test must not fail for a network that hesitates."""
    for pause in PAUSES_SECONDS:
        try:
            resolve(packages)
        except JvmUnavailable as error:
            print(f"== once more in {pause} s: {error}", flush=True)
            time.sleep(pause)
        else:
            return
    resolve(packages)


def run(name: str, gateway: str) -> Result:
    """One system over one gateway."""
    report = REPORTS / f"{name}-{gateway}.xml"
    report.unlink(missing_ok=True)
    without = ["-p", "no:faulthandler"] if gateway == "jpype" else []
    file = str(FOLDER / f"test_{name}.py")
    print(f"== {name} on {gateway}", flush=True)
    begun = time.monotonic()
    try:
        status = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *without, f"--junitxml={report}", file],
            cwd=ROOT,
            check=False,
            timeout=LONGEST_SECONDS,
        ).returncode
    except subprocess.TimeoutExpired:
        print(f"== {name} on {gateway}: not over after {LONGEST_SECONDS} s", flush=True)
        status = 1
    passed, failed = count(report)
    if failed == 0 and (status != 0 or passed == 0):
        print(f"== {name} on {gateway}: exited {status} without saying which test failed", flush=True)
        failed = 1
    return Result(passed, failed, time.monotonic() - begun)


def count(report: Path) -> tuple[int, int]:
    """How many passed, and how many did not."""
    if not report.is_file():
        return 0, 0
    tests = passed = 0
    for suite in ElementTree.parse(report).getroot().iter("testsuite"):
        tests += int(suite.get("tests", 0))
        passed += int(suite.get("tests", 0)) - sum(int(suite.get(key, 0)) for key in ("failures", "errors", "skipped"))
    return passed, tests - passed


def chosen(options: argparse.Namespace) -> list[tuple[str, System]]:
    """The systems that were asked for, or all; without those that start a server where that was asked for."""
    known = {name: load(name) for name in names()}
    unknown = set(options.names) - set(known)
    if unknown:
        sys.exit(f"no such system: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    wanted = {name: known[name] for name in options.names or known}
    for name, system in list(wanted.items()):
        if options.no_server and system.server_process:
            print(f"== {name} is left out: it starts {system.server_process}")
            del wanted[name]
        elif options.gateway not in (None, *system.gateways):
            print(f"== {name} is left out: {system.not_on}")
            del wanted[name]
    return list(wanted.items())


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what was asked for; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.interop.systems", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a system, such as reactor; all by default")
    parser.add_argument("--gateway", choices=("jpype", "spark"), help="only over this one")
    parser.add_argument("--no-server", action="store_true", help="only what needs no server process (CI)")
    parser.add_argument(
        "--page", action="store_true", help="write docs/interop.md from what the tests declare, and end"
    )
    options = parser.parse_args(arguments)
    if options.page:
        page.PAGE.write_text(page.text(), encoding="utf-8")
        print(page.PAGE.relative_to(ROOT))
        return 0
    REPORTS.mkdir(parents=True, exist_ok=True)
    results: dict[tuple[str, str], Result] = {}
    for name, system in chosen(options):
        there = prepare(name, system)
        for gateway in system.gateways:
            if options.gateway in (None, gateway):
                results[name, gateway] = run(name, gateway) if there else Result(0, 1, 0)
    for (name, on), result in results.items():
        print(f"{name:16} {on:6} {result.passed:3} passed, {result.failed} failed, {result.seconds:.0f} s")
    passed, failed = (sum(result[at] for result in results.values()) for at in (0, 1))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
