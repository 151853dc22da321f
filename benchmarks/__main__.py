"""Measure the core, the bridge and Spark, and check fixed budgets."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from benchmarks import guard, publish
from benchmarks.budgets import Verdict, failed_verdict
from benchmarks.contenders import Contenders
from benchmarks.drivers import Driver
from benchmarks.java import MissingTool
from benchmarks.measure import Contender, take_turns
from benchmarks.profiling import profile
from benchmarks.report import machine, read_json, table, write_json
from benchmarks.rows import ROWS, Row

_REPETITIONS = 5
_QUICK_REPETITIONS = 7
_QUICK_SCALE = 0.2
_TABLE_SECONDS = 1800

CORE_NAMES = (
    "map-filter",
    "map-filter-1",
    "ten-maps",
    "multicast",
    "flat-map",
    "publish-on",
    "async-for",
    "split-lines",
    "handle",
    "merge-comparing",
    "expand",
    "sequence-equal",
    "parallel",
    "import",
)
SPARK_NAMES = ("tuples", "rows", "arrow", "first", "tiny", "paused", "sleepers", "read-stream", "read-stream-arrow")
TABLES = {"core": CORE_NAMES, "bridge": tuple(row.name for row in ROWS), "spark": SPARK_NAMES}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the table that the command line selects.

    Returns:
        0; 1 if ``--check`` was given and a budget was missed, or if ``guard`` found a slower row; 2 if a tool is
        missing, or if the row to profile measures memory only.
    """
    options = _parser().parse_args(arguments)
    if options.table == "all":
        return _measure_all(options)
    if options.table == "guard":
        return guard.report(guard.ratios(_quick_rows), publish.published()["guarded"])
    if options.table == "core":
        verdicts = _measure_core(options.only, options.quick)
        return _report(verdicts, options)
    if options.table == "spark":
        return _report(_measure_spark(options.only, options.quick), options)
    rows = [row for row in ROWS if not options.only or row.name in options.only]
    try:
        if options.profile:
            return _profile(next(row for row in ROWS if row.name == options.profile))
        verdicts = _measure(rows, options.quick, options.gateway)
    except MissingTool as missing:
        print(missing, file=sys.stderr)
        return 2
    return _report(verdicts, options)


def _measure_all(options: argparse.Namespace) -> int:
    """Measure every table; with ``--publish``, also measure the guarded rows and write the figures."""
    tables = {name: _in_child(name, TABLES[name], options.quick) for name in TABLES}
    for name, verdicts in tables.items():
        print(f"\n{name}: {machine()}; us are microseconds an element\n\n{table(verdicts)}")
    if options.publish:
        publish.publish(tables, guard.medians(guard.ratios(_quick_rows)))
    return int(options.check and not all(verdict.passed for verdicts in tables.values() for verdict in verdicts))


def _quick_rows(name: str, rows: Sequence[str]) -> list[Verdict]:
    return _in_child(name, rows, quick=True)


def _report(verdicts: list[Verdict], options: argparse.Namespace) -> int:
    if options.json:
        write_json(options.json, verdicts)
    if options.gateway is None:
        print(f"\n{machine()}; {'quick run, ' if options.quick else ''}us are microseconds an element\n")
        print(table(verdicts))
    return int(options.check and not all(verdict.passed for verdict in verdicts))


def _measure_core(only: Sequence[str] | None, quick: bool) -> list[Verdict]:
    from benchmarks.core_rows import CORE_ROWS  # imports libraries that the bridge's table does not need

    repetitions, scale = (_QUICK_REPETITIONS, _QUICK_SCALE) if quick else (_REPETITIONS, 1.0)
    verdicts: list[Verdict] = []
    for row in CORE_ROWS:
        if only and row.name not in only:
            continue
        try:
            measured = take_turns(row.contenders(), repetitions, scale)
            verdicts += [budget.judge(row.name, measured) for budget in row.budgets]
        except Exception as error:  # a failed row must not hide the others
            verdicts.append(failed_verdict(row.name, error))
        print(f"{row.title}: done", file=sys.stderr, flush=True)
    return verdicts


def _measure_spark(only: Sequence[str] | None, quick: bool) -> list[Verdict]:
    from benchmarks.spark_rows import SPARK_ROWS, session

    repetitions, scale = (_QUICK_REPETITIONS, _QUICK_SCALE) if quick else (_REPETITIONS, 1.0)
    verdicts: list[Verdict] = []
    rows = [row for row in SPARK_ROWS if not only or row.name in only]
    for cores in sorted({row.cores for row in rows}):
        with session(cores) as spark:
            for row in rows:
                if row.cores != cores:
                    continue
                try:
                    measured = take_turns(row.contenders(spark), repetitions, scale)
                    verdicts += [budget.judge(row.name, measured) for budget in row.budgets]
                    verdicts += row.memory(spark) if row.memory is not None else []
                except Exception as error:  # a failed row must not hide the others
                    verdicts.append(failed_verdict(row.name, error))
                print(f"{row.title}: done", file=sys.stderr, flush=True)
    return verdicts


def _measure(rows: Sequence[Row], quick: bool, gateway: str | None) -> list[Verdict]:
    verdicts: list[Verdict] = []
    for name in ("spark", "jpype") if gateway is None else (gateway,):
        chosen = [row for row in rows if row.gateway == name]
        if not chosen:
            continue
        # A process has one JPype JVM, which cannot be restarted: JPype rows run in a child process.
        if gateway or name == "spark":
            verdicts += _in_process(name, chosen, quick)
        else:
            verdicts += _in_child("bridge", [row.name for row in chosen], quick, "--gateway", name)
    return verdicts


def _in_process(gateway: str, rows: Sequence[Row], quick: bool) -> list[Verdict]:
    repetitions, scale = (_QUICK_REPETITIONS, _QUICK_SCALE) if quick else (_REPETITIONS, 1.0)
    verdicts: list[Verdict] = []
    with closing(_driver(gateway)) as driver, closing(Contenders(driver)) as make:
        for row in rows:
            start = time.monotonic()
            try:
                verdicts += _run(row, driver, make, repetitions, scale)
            except Exception as error:  # a failed row must not hide the others
                verdicts.append(failed_verdict(row.name, error))
            print(f"{row.title}: {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)
    return verdicts


def _run(row: Row, driver: Driver, make: Contenders, repetitions: int, scale: float) -> list[Verdict]:
    verdicts: list[Verdict] = []
    contenders = row.contenders(make)
    if contenders:
        measured = take_turns(contenders, repetitions, scale)
        verdicts += [budget.judge(row.name, measured) for budget in row.budgets]
    if row.memory is not None:
        verdicts += row.memory(driver, scale)
    return verdicts


def _in_child(name: str, rows: Sequence[str], quick: bool, *more: str) -> list[Verdict]:
    """Measure rows of a table in a process of their own."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "verdicts.json"
        command = [sys.executable, "-m", "benchmarks", name, *more, "--json", str(file)]
        command += ["--quick"] if quick else []
        for row in rows:
            command += ["--only", row]
        try:
            subprocess.run(command, check=True, timeout=_TABLE_SECONDS, stdout=subprocess.DEVNULL)
            return read_json(file)
        except (subprocess.SubprocessError, OSError) as error:
            return [failed_verdict(row, error) for row in rows]


def _profile(row: Row) -> int:
    with closing(_driver(row.gateway)) as driver, closing(Contenders(driver)) as make:
        contenders: Sequence[Contender] = row.contenders(make)
        if not contenders:
            print(f"{row.name} measures memory only: there is no time to profile", file=sys.stderr)
            return 2
        print(profile(contenders[0], int(driver.java("Memory").process())))
    return 0


def _driver(gateway: str) -> Driver:
    if gateway == "spark":
        from benchmarks.spark_driver import SparkDriver

        return SparkDriver()
    from benchmarks.jpype_driver import JPypeDriver

    return JPypeDriver()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(required=True, dest="table", metavar="{all,core,bridge,spark,guard}")
    every = commands.add_parser("all", help="every table, each in a process of its own")
    every.add_argument("--check", action="store_true", help="exit 1 if a budget is missed")
    every.add_argument("--quick", action="store_true", help="fewer elements, seven repetitions")
    every.add_argument("--publish", action="store_true", help="write the figures and plots of the documentation")
    commands.add_parser("guard", help="ten rows; exit 1 if one is over 25 %% slower than its published figure")
    for name, words, rows in (
        ("core", "the core, compared with plain iterators, RxPY and aioreactive", CORE_NAMES),
        ("spark", "a DataFrame's rows, compared with Spark's own methods", SPARK_NAMES),
    ):
        _add_table(commands.add_parser(name, help=words), rows).set_defaults(gateway=None)
    bridge = commands.add_parser("bridge", help="the bridge, compared with naive proxies and a bare socket")
    _add_table(bridge, TABLES["bridge"])
    bridge.add_argument("--profile", choices=TABLES["bridge"], metavar="ROW", help="profile a row")
    bridge.add_argument("--gateway", choices=("spark", "jpype"), help=argparse.SUPPRESS)
    return parser


def _add_table(command: argparse.ArgumentParser, rows: Sequence[str]) -> argparse.ArgumentParser:
    command.add_argument("--check", action="store_true", help="exit 1 if a budget is missed")
    command.add_argument("--json", type=Path, metavar="FILE", help="also write the figures as JSON")
    command.add_argument("--quick", action="store_true", help="fewer elements, seven repetitions")
    command.add_argument("--only", action="append", choices=rows, metavar="ROW", help=f"one of {', '.join(rows)}")
    return command


if __name__ == "__main__":
    raise SystemExit(main())
