"""Test every system of docs/interop.md: ``python -m tests.interop.systems [NAME ...]``.

Each system runs in one process per gateway, because a process has one JVM and a JVM one class path. A skipped test
counts as failed: ``SYSTEM`` declares the gateways on which a system runs.
"""

from __future__ import annotations

import argparse
import os
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
from tests.pytest_processes import pytest_environment

REPORTS = ROOT / "build" / "test-reports" / "systems"
LONGEST_SECONDS = 900
PAUSES_SECONDS = (5.0, 30.0)
"""The pauses before further attempts to fetch jars."""
REPRESENTATIVE = frozenset({"akka", "h2", "jdk", "mutiny", "pekko", "reactor", "rxjava"})
"""The systems that run with ``--representative``: the libraries of operators, and one driver.

The other systems build on these libraries, or implement the same interfaces.
"""
ON_BOTH_GATEWAYS = frozenset({"h2"})
"""With ``--representative`` only these run on all their gateways.

The gateways differ in the calls into Java and in the class loaders; elements take the same link. H2 is a driver that
Java finds by name. The tests of ``tests/interop`` use the JDK and Reactor over both gateways.
"""


class Result(NamedTuple):
    """The result of one process."""

    passed: int
    failed: int
    seconds: float


def prepare(name: str, system: System) -> bool:
    """Fetch the jars and install the server before the tests, with visible output; return whether this succeeded."""
    try:
        fetch([*system.packages, *system.test_packages])
        if system.install is not None:
            system.install()
    except Exception as error:  # the other systems still run
        print(f"== {name}: {error}", flush=True)
        return False
    return True


def fetch(packages: Sequence[str]) -> None:
    """Fetch the jars into the cache, and try again: a slow network must not fail a test."""
    for pause in PAUSES_SECONDS:
        try:
            resolve(packages)
        except JvmUnavailable as error:
            print(f"== another attempt in {pause} s: {error}", flush=True)
            time.sleep(pause)
        else:
            return
    resolve(packages)


def run(name: str, gateway: str) -> Result:
    """Test one system over one gateway."""
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
            env=pytest_environment(),
            check=False,
            timeout=LONGEST_SECONDS,
        ).returncode
    except subprocess.TimeoutExpired:
        print(f"== {name} on {gateway}: stopped after {LONGEST_SECONDS} s", flush=True)
        status = 1
    passed, failed = count(report)
    if failed == 0 and (status != 0 or passed == 0):
        print(f"== {name} on {gateway}: exit status {status} and no failed test", flush=True)
        failed = 1
    return Result(passed, failed, time.monotonic() - begun)


def count(report: Path) -> tuple[int, int]:
    """Return the number of tests that passed and that did not."""
    if not report.is_file():
        return 0, 0
    tests = passed = 0
    for suite in ElementTree.parse(report).getroot().iter("testsuite"):
        tests += int(suite.get("tests", 0))
        passed += int(suite.get("tests", 0)) - sum(int(suite.get(key, 0)) for key in ("failures", "errors", "skipped"))
    return passed, tests - passed


def representative(options: argparse.Namespace) -> bool:
    """Return whether only representative systems and gateways run."""
    return options.representative and not os.environ.get("PYRS_CAMPAIGN")


def chosen(options: argparse.Namespace) -> list[tuple[str, System]]:
    """Return the chosen systems: all by default, and none that starts a server if ``--no-server`` is given."""
    known = {name: load(name) for name in names()}
    unknown = set(options.names) - set(known)
    if unknown:
        sys.exit(f"no such system: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    wanted = {name: known[name] for name in options.names or known}
    if representative(options) and not options.names:
        wanted = {name: system for name, system in wanted.items() if name in REPRESENTATIVE}
    for name, system in list(wanted.items()):
        if options.no_server and system.server_process:
            print(f"== {name} is skipped: it starts {system.server_process}")
            del wanted[name]
        elif options.gateway not in (None, *system.gateways):
            print(f"== {name} is skipped: {system.not_on}")
            del wanted[name]
    return list(wanted.items())


def gateways_of(name: str, system: System, options: argparse.Namespace) -> list[str]:
    """Return the gateways on which to run a system."""
    if options.gateway is not None:
        return [options.gateway]
    if representative(options) and name not in ON_BOTH_GATEWAYS:
        return list(system.gateways[:1])
    return list(system.gateways)


def main(arguments: Sequence[str] | None = None) -> int:
    """Test the chosen systems; return 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.interop.systems", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a system such as reactor; all by default")
    parser.add_argument("--gateway", choices=("jpype", "spark"), help="test on this gateway only")
    parser.add_argument("--no-server", action="store_true", help="skip the systems that need a server process")
    parser.add_argument(
        "--representative",
        action="store_true",
        help=f"test only {', '.join(sorted(REPRESENTATIVE))}, on one gateway each, except "
        f"{', '.join(sorted(ON_BOTH_GATEWAYS))}; PYRS_CAMPAIGN=1 overrides it",
    )
    parser.add_argument(
        "--page", action="store_true", help="write docs/interop.md from the SYSTEM declarations and exit"
    )
    options = parser.parse_args(arguments)
    if options.page:
        page.PAGE.write_text(page.text(), encoding="utf-8")
        print(page.PAGE.relative_to(ROOT))
        return 0
    REPORTS.mkdir(parents=True, exist_ok=True)
    results: dict[tuple[str, str], Result] = {}
    for name, system in chosen(options):
        prepared = prepare(name, system)
        for gateway in gateways_of(name, system, options):
            results[name, gateway] = run(name, gateway) if prepared else Result(0, 1, 0)
    for (name, on), result in results.items():
        print(f"{name:16} {on:6} {result.passed:3} passed, {result.failed} failed, {result.seconds:.0f} s")
    passed, failed = (sum(result[at] for result in results.values()) for at in (0, 1))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
