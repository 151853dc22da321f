"""The command line, ``python -m pyrs``.

Each subcommand imports what it needs when it runs, so ``--help`` and ``version`` work without any extra. This module
imports nothing that ``import pyrs`` has not imported, because ``main`` must handle a Ctrl-C during an import.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from typing import TYPE_CHECKING

from pyrs import __version__

if TYPE_CHECKING:
    import argparse

DESCRIPTION = "Reactive Streams for Python, and a bridge to the Reactive Streams libraries of the JVM."
EPILOG = """examples:
  python -m pyrs demo       MovieLens ratings through Spark's driver, Reactor and a Python Processor, with back pressure
  python -m pyrs tck my.tests:MyVerification    test a Publisher, Subscriber or Processor against the specification
  python -m pyrs jars io.projectreactor:reactor-core:3.6.0    a class path by Maven coordinates
  python -m pyrs top        the live streams of the processes that call bridge.serve_status()
  python -m pyrs doctor     check Python, Java, the gateways and the jar, and say how to fix what is missing
  python -m pyrs version    the version, and whether the bridge's jar and gateways are installed
"""


def build_parser() -> argparse.ArgumentParser:
    """Build the parser; each subcommand stores its function as ``run``."""
    import argparse
    from pathlib import Path

    parser = argparse.ArgumentParser(
        prog="pyrs", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"pyrs {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    def command(run: Callable[[argparse.Namespace], int], summary: str, details: str) -> argparse.ArgumentParser:
        added = commands.add_parser(run.__name__.removeprefix("run_"), help=summary, description=details)
        added.set_defaults(run=run)
        return added

    command(
        run_demo,
        "watch the bridge at work in a local Spark driver",
        "Starts a local Spark driver and streams its MovieLens ratings through the JVM and Python. "
        "Needs the spark extra: pip install 'pyrs-streams[spark]'. Exits 0 only if every count is right.",
    )
    tck = command(
        run_tck,
        "run the TCK against a Publisher, a Subscriber or a Processor",
        "Runs the Reactive Streams TCK against the object that a verification creates. Exits 0 if no test fails, "
        "1 if one fails or the run is void, 2 if the verification cannot run or a report cannot be written.",
    )
    argument = tck.add_argument
    argument("verifications", nargs="+", metavar="MODULE:CLASS", help="a subclass of a verification")
    referees = "the TCK to run: the Python port (the default), the official Java TCK, or both"
    argument("--referee", choices=("python", "java", "both"), default="python", help=referees)
    where = "where the Java TCK runs: jpype (in this process, the default), spark (a local driver) or MODULE:NAME, "
    argument("--jvm", default="jpype", help=where + "your Spark session or Py4J gateway or a function that returns one")
    families = "the interfaces that the Java TCK tests: org.reactivestreams (the default) or java.util.concurrent.Flow"
    argument("--family", choices=("reactive-streams", "flow"), default="reactive-streams", help=families)
    argument("-k", metavar="WORDS", help="run only the tests whose names contain one of these words")
    argument("--junitxml", "--junit", dest="junit", metavar="FILE", type=Path, help="also write JUnit XML")
    argument("--json", metavar="FILE", type=Path, help="also write JSON")
    jars = command(
        run_jars,
        "fetch jars by Maven coordinates, and print the class path",
        "Resolves packages with their dependencies, as jvm.launch(packages=...) and spark.jars.packages do, stores "
        "the jars in the cache, and prints the class path.",
    )
    argument = jars.add_argument
    argument("packages", nargs="+", metavar="GROUP:ARTIFACT:VERSION", help="a Maven coordinate")
    searched = "search this repository after Maven Central"
    argument("--repository", action="append", default=[], metavar="ADDRESS", help=searched)
    argument("--exclude", action="append", default=[], metavar="GROUP:ARTIFACT", help="leave this dependency out")
    top = command(
        run_top,
        "show the live streams of running processes",
        "Shows each live stream of the bridges of this user's processes that called bridge.serve_status(): demand, "
        "elements in flight, rate, drops and the line that assembled it. Press Ctrl-C to stop. Exits 1 with --once or "
        "--json if no process serves its status. --http serves a read-only page to browsers on this host.",
    )
    top.add_argument("--once", action="store_true", help="print the table once")
    top.add_argument("--json", action="store_true", help="print one JSON document")
    page = "serve a web page on this port of 127.0.0.1, by default a free one"
    top.add_argument("--http", type=_port, nargs="?", const=0, metavar="PORT", help=page)
    top.add_argument("--interval", type=_interval, default=1.0, metavar="SECONDS", help="time between refreshes (1)")
    doctor = command(
        run_doctor,
        "check what the bridge needs on this machine",
        "Checks Python, the gateway packages, Java, Spark, the jar, the loopback interface and the cache of jars, and "
        "says how to fix what is missing. Exits 1 if the bridge cannot be used.",
    )
    doctor.add_argument("--json", action="store_true", help="print the findings as JSON")
    summary = "show the version and which parts of the bridge are installed"
    command(run_version, summary, summary)
    return parser


def run_demo(arguments: argparse.Namespace) -> int:
    """Run the demo and return its exit status."""
    missing = [package for package in ("pyspark", "pyarrow", "msgpack") if not is_installed(package)]
    if missing:
        print(f"pyrs demo: {missing[0]} is not installed: pip install 'pyrs-streams[spark]'", file=sys.stderr)
        return 1
    return int(import_module("pyrs._demo").main())


def run_tck(arguments: argparse.Namespace) -> int:
    """Run the TCK and return its exit status."""
    return int(import_module("pyrs.tck.command").run(arguments))


def run_jars(arguments: argparse.Namespace) -> int:
    """Print the class path of the named packages."""
    from pyrs.errors import PyrsError

    try:
        from pyrs.jvm.packages import resolve
    except ImportError:
        print("pyrs jars: msgpack is not installed: pip install 'pyrs-streams[jpype]' or '[spark]'", file=sys.stderr)
        return 1
    try:
        found = resolve(arguments.packages, arguments.repository, exclude=arguments.exclude)
    except (PyrsError, ValueError) as error:
        print(f"pyrs jars: {error}", file=sys.stderr)
        return 1
    print(os.pathsep.join(map(str, found)))
    return 0


def run_doctor(arguments: argparse.Namespace) -> int:
    """Check the machine and return the exit status."""
    from pyrs import _doctor

    return _doctor.run(arguments.json)


def run_top(arguments: argparse.Namespace) -> int:
    """Show the live streams until Ctrl-C, or once; in the terminal or as a web page."""
    try:
        from pyrs import _top
    except ImportError:
        print("pyrs top: msgpack is not installed: pip install 'pyrs-streams[jpype]' or '[spark]'", file=sys.stderr)
        return 1
    if arguments.http is not None:
        if arguments.once or arguments.json:
            print("pyrs top: --http cannot be combined with --once or --json", file=sys.stderr)
            return 2
        return int(import_module("pyrs._top.page").run(arguments.http, interval=arguments.interval))
    try:
        return _top.run(once=arguments.once, as_json=arguments.json, interval=arguments.interval)
    except PermissionError as error:
        print(f"pyrs top: {error}", file=sys.stderr)
        return 1


def _interval(text: str) -> float:
    from argparse import ArgumentTypeError

    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 3_600:
        raise ArgumentTypeError(f"SECONDS must be from 0.1 to 3600, not {text}")
    return seconds


def _port(text: str) -> int:
    from argparse import ArgumentTypeError

    if not text.isdecimal() or int(text) >= 1 << 16:
        raise ArgumentTypeError(f"PORT must be from 0 to 65535, not {text}")
    return int(text)


def run_version(arguments: argparse.Namespace) -> int:
    """Print the version, then one line for each part of the bridge."""
    from importlib import resources

    jar = resources.files("pyrs") / "jvm" / "jars" / "pyrs.jar"
    print(f"pyrs {__version__}")
    print(f"jar: {'present' if jar.is_file() else 'missing (in a checkout: make setup)'}")
    print(f"Py4J gateway: {'present' if is_installed('py4j') else 'not installed (the spark extra)'}")
    print(f"JPype gateway: {'present' if is_installed('jpype') else 'not installed (the jpype extra)'}")
    return 0


def is_installed(package: str) -> bool:
    """Return whether a package is installed, without importing it."""
    from importlib.util import find_spec

    return find_spec(package) is not None


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, run the command and return its exit status.

    Ctrl-C, a reader such as ``head`` that closes the pipe, and a full disk end the command without a traceback.
    """
    if sys.stdout is None or sys.stderr is None:  # the shell closed one of them: >&-
        with (
            open(os.devnull, "w", encoding="utf-8") as nothing,
            redirect_stdout(sys.stdout or nothing),
            redirect_stderr(sys.stderr or nothing),
        ):
            return main(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # print characters that the encoding lacks as escapes
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            return _run(arguments)
        finally:
            sys.stdout.flush()  # an error of the flush at the exit of the interpreter could not be caught
    except KeyboardInterrupt:
        print("pyrs: interrupted", file=sys.stderr)
        return 130
    except OSError as error:
        import errno

        failure = _output_error() or error
        if isinstance(failure, BrokenPipeError):
            return 141  # the status of a process that SIGPIPE ends
        # The flush of unbuffered output succeeds. The error of another file has the name of that file.
        if failure is error and (error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) or error.filename):
            raise
        print(f"pyrs: cannot write the output: {failure.strerror}", file=sys.stderr)
        return 1


def _output_error() -> OSError | None:
    """Return the error of a flush of standard output, or None."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes stdout at its exit
        return error
    return None


def _run(arguments: Sequence[str] | None) -> int:
    parser = build_parser()
    parsed = parser.parse_args(arguments)
    if not hasattr(parsed, "run"):
        parser.print_help()
        return 2
    return int(parsed.run(parsed))


if __name__ == "__main__":
    sys.exit(main())
