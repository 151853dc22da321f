#!/usr/bin/env python3
"""Run the test suites concurrently, and print the counts of each suite and a total.

Each suite is a process, because a process can have one JVM, one class path and one Spark session, and because a JVM in
the process and Python's faulthandler both use SIGSEGV. CONTRIBUTING ("How tests run") lists the suites. Some suites
mostly wait: a TCK spends most of its time waiting for signals that must not arrive. They start first, together with
two suites that need the CPU, and count half. When they have ended, up to three others run, because each of those
sometimes waits for a driver or a JVM. More at a time take as long, since the processors are busy anyway, and exceed
limits such as the 10 s in which a Python worker of Spark must start. Every suite runs, even after a failure.

Most JVMs of the tests live for seconds, and spend half of their CPU time in the optimizing compiler. They run without
it, except with --all and in Java's own tests. Spark drivers load their classes from the archive that
`.ci/driver_archive.py` writes, if `make test` has built it.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "build" / "test-reports"
WITHOUT_FAULTHANDLER = ("-p", "no:faulthandler")
AT_ONCE = 5
CAPACITY = 7
"""The total of the costs of the suites that run at a time."""


@dataclass(frozen=True)
class Suite:
    """A command, and the folder in which it writes JUnit XML reports."""

    name: str
    command: Sequence[str]
    reports: Path
    waits: bool = False
    """The suite uses little CPU time."""
    environment: Mapping[str, str] = field(default_factory=dict)
    short_lived_jvms: bool = False
    """Its JVMs that are not Spark drivers run without the optimizing compiler. Each prints the options on stderr."""

    @property
    def cost(self) -> int:
        """The part of ``CAPACITY`` that the suite takes."""
        return 1 if self.waits else 2


@dataclass
class Count:
    """The result of one suite."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0


def pytest(name: str, *arguments: str, **options: Any) -> Suite:
    """Return a suite that pytest runs.

    Args:
        name: the name of the suite.
        arguments: the arguments of pytest.
        options: the other fields of the suite.
    """
    reports = REPORTS / name
    command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={reports}/report.xml", *arguments]
    return Suite(name, command, reports, **options)


# The tests of streaming queries have a process of their own: one suite of all tests of Spark would be the longest.
STREAMING = tuple(
    str(path.relative_to(ROOT))
    for name in ("acknowledgement", "for_each_frame", "from_stream", "journal", "keyed", "read_stream", "stream_from")
    for path in sorted((ROOT / "tests" / "spark").glob(f"test_{name}*.py"))
)
OVER_JVM = "tests/conformance/test_over_jvm.py"
# A free worker takes the first suite that it may start. The long suites of Spark are first.
SUITES = (
    pytest("spark", "tests/spark", *(f"--ignore={path}" for path in STREAMING)),
    pytest("spark-streaming", *STREAMING),
    pytest(
        "core",
        "tests/core",
        "tests/adapters",
        "tests/link",
        "tests/values",
        "tests/gateways",
        short_lived_jvms=True,
    ),
    pytest("examples", "tests/demo", "tests/project", short_lived_jvms=True),
    Suite(
        "systems",
        [sys.executable, "-m", "tests.interop.systems", "--no-server", "--representative"],
        REPORTS / "systems",
        short_lived_jvms=True,
    ),
    pytest(
        "py4j",
        "tests/spark_driver",
        "tests/shutdown",
        "tests/interop",
        "tests/values_e2e",
        "tests/campaigns",
        OVER_JVM,
    ),
    pytest(
        "jpype",
        *WITHOUT_FAULTHANDLER,
        "tests/jpype",
        "tests/interop",
        "tests/values_e2e",
        short_lived_jvms=True,
    ),
    Suite(
        "java",
        ["gradle", "-p", "jvm", "--console=plain", "--no-daemon", "-q", "cleanTest", "test"],
        ROOT / "jvm" / "build" / "test-results" / "test",
    ),
    pytest("tck-java", *WITHOUT_FAULTHANDLER, "tests/tck_java", waits=True, short_lived_jvms=True),
    pytest("conformance", "tests/conformance", f"--ignore={OVER_JVM}", waits=True),
    pytest("tck", "tests/tck", waits=True),
    pytest("conformance-jpype", *WITHOUT_FAULTHANDLER, OVER_JVM, waits=True, short_lived_jvms=True),
)
# These suites run only with --all or by name.
NIGHTLY = (
    pytest("tck-py4j", "tests/tck_java", waits=True),
    pytest("smoke-py4j", "tests/smoke"),
    pytest("smoke-jpype", *WITHOUT_FAULTHANDLER, "tests/smoke"),
    pytest(
        "chains",
        "tests/core/contract/test_properties.py",
        "--timeout=3600",
        environment={"PYRS_EXAMPLES": "10000"},
    ),
)
# A Spark driver that runs one query uses 12 s of CPU time with these options, and 22 s without. It uses 7 s with these
# options and the archive.
WITHOUT_OPTIMIZING = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SHORT_LIVED_JVMS = {"JAVA_TOOL_OPTIONS": WITHOUT_OPTIMIZING}
DRIVER_ARCHIVE = ROOT / "build" / "driver.jsa"
# A driver with another class path cannot use the archive, and must not report this on its standard output.
WITHOUT_REPORTS = "-Xlog:cds=off -Xlog:cds+dynamic=off"
CAMPAIGN = {"PYRS_CAMPAIGN": "1", "PYRS_EVERY_STEP": "1"}
# The tests start hundreds of Python processes. Without bytecode on disk, each of them compiles every module that it
# imports, and pytest rewrites the assertions of every test and plugin again: two seconds of CPU time a process.
WITH_BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}


def options_of_drivers() -> dict[str, str]:
    """Return the environment variables of Spark drivers that live for seconds."""
    options = WITHOUT_OPTIMIZING
    if DRIVER_ARCHIVE.exists():
        # Spark's launcher splits the options like a shell.
        options += f" -XX:SharedArchiveFile={shlex.quote(str(DRIVER_ARCHIVE))} {WITHOUT_REPORTS}"
    return {"SPARK_SUBMIT_OPTS": options, "SPARK_LAUNCHER_OPTS": WITHOUT_OPTIMIZING}


def count(reports: Sequence[Path]) -> Count:
    """Add up JUnit XML reports, pytest's or Gradle's."""
    total = Count()
    for report in reports:
        for suite in ElementTree.parse(report).getroot().iter("testsuite"):
            failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            skipped = int(suite.get("skipped", 0))
            total.failed += failed
            total.skipped += skipped
            total.passed += int(suite.get("tests", 0)) - failed - skipped
    return total


def run(suite: Suite, *, capture: bool = False) -> Count:
    """Run a suite.

    A process that fails without a failed test counts as one failure, and so does one in which no test passes. Captured
    output is printed when the suite ends.
    """
    print(f"== {suite.name}: {' '.join(suite.command)}", flush=True)
    shutil.rmtree(suite.reports, ignore_errors=True)
    short_lived = SHORT_LIVED_JVMS if suite.short_lived_jvms and "PYRS_CAMPAIGN" not in os.environ else {}
    begun = time.monotonic()
    done = subprocess.run(
        suite.command,
        cwd=ROOT,
        env={**os.environ, **suite.environment, **short_lived},
        check=False,
        stdout=subprocess.PIPE if capture else None,
        stderr=subprocess.STDOUT if capture else None,
        text=True,
        errors="replace",
    )
    total = count(sorted(suite.reports.glob("*.xml")))
    total.seconds = time.monotonic() - begun
    output = done.stdout or ""
    if done.returncode != 0 and total.failed == 0:
        output += f"== {suite.name}: exit status {done.returncode} and no failed test\n"
        total.failed = 1
    if done.returncode == 0 and total.passed == 0:
        output += f"== {suite.name}: no test ran\n"
        total.failed += 1
    heading = f"== output of {suite.name}:\n" if capture else ""
    print(f"{heading}{output}", end="", flush=True)
    return total


def run_all(suites: Sequence[Suite], run: Callable[[Suite], Count]) -> dict[str, Count]:
    """Run the suites; those that mostly wait start first, alongside two that need the CPU."""
    left = list(suites)
    free = CAPACITY
    lock = threading.Lock()
    counts: dict[str, Count] = {}

    def take(busy_first: bool) -> Suite | None:
        nonlocal free
        with lock:
            allowed = [suite for suite in left if suite.cost <= free]
            if not allowed:  # the worker of a suite that still runs takes the next one
                return None
            suite = next((suite for suite in allowed if suite.waits is not busy_first), allowed[0])
            left.remove(suite)
            free -= suite.cost
            return suite

    def work(busy_first: bool) -> None:
        nonlocal free
        while suite := take(busy_first):
            try:
                counts[suite.name] = run(suite)
            finally:
                with lock:
                    free += suite.cost

    with ThreadPoolExecutor(AT_ONCE) as pool:
        workers = [pool.submit(work, number < 2) for number in range(AT_ONCE)]
        try:
            for worker in workers:
                worker.result()
        except BaseException:  # Ctrl-C reaches the running suites as well; no further suite may start
            with lock:
                left.clear()
            raise
    return {suite.name: counts[suite.name] for suite in suites}


def parse_arguments(words: Sequence[str] | None) -> tuple[list[Suite], bool]:
    """Parse the command line; return the suites, and whether campaigns run."""
    known = {suite.name: suite for suite in (*SUITES, *NIGHTLY)}
    parser = argparse.ArgumentParser(prog=".ci/test.py", description="Run the test suites.")
    parser.add_argument("--all", action="store_true", help="run the campaigns and the nightly suites as well")
    nightly = ", ".join(suite.name for suite in NIGHTLY)
    description = f"one of {', '.join(known)}; by default all but {nightly}"
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=description)
    options = parser.parse_args(words)
    unknown = [name for name in options.suites if name not in known]
    if unknown:
        parser.error(f"no such suite: {', '.join(unknown)}; choose from {', '.join(known)}")
    names = options.suites or (known if options.all else [suite.name for suite in SUITES])
    return [known[name] for name in names], options.all


def main(words: Sequence[str] | None = None) -> int:
    """Run the suites and return 1 if anything failed."""
    suites, campaign = parse_arguments(words)
    os.environ.update(WITH_BYTECODE)
    os.environ.update(CAMPAIGN if campaign else options_of_drivers())
    if len(suites) == 1:
        counts = {suites[0].name: run(suites[0])}
    else:
        counts = run_all(suites, lambda suite: run(suite, capture=True))
    for name, each in counts.items():
        print(f"{name}: {each.passed} passed, {each.failed} failed, {each.skipped} skipped in {each.seconds:.0f} s")
    failed = sum(each.failed for each in counts.values())
    skipped = sum(each.skipped for each in counts.values())
    print(f"{sum(each.passed for each in counts.values())} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
