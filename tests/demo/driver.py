"""Run Spark programs, each in a separate process or sequentially in one process with one driver.

A driver takes seconds to start. ``python -m tests.demo.driver JAR ...`` starts one with these jars and reads one
request per line from standard input. It answers with lines of JSON: the output of the program, then its exit status.
``SharedDriver`` is the client. ``OwnDriver`` has the same methods and starts each program as a user does.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import runpy
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol

from tests.sessions import python_of_workers, spark_session

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 600.0
"""The deadline of a program, and of the start and the stop of the driver."""


class Completed(NamedTuple):
    """The exit status and the output of a program."""

    returncode: int
    stdout: str
    stderr: str


class Running:
    """A program that runs in a process, with its output so far."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self.stdout = ""
        self.ended = threading.Event()
        self._process = process
        self._status: int | None = None
        self._errors = ""
        self._log = log
        self._log_start = log.stat().st_size
        threading.Thread(target=self._receive, daemon=True).start()

    @property
    def stderr(self) -> str:
        """The standard error of the JVM, then that of the program."""
        with self._log.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace") + self._errors

    def interrupt(self) -> None:
        """Send SIGINT, as Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)

    def wait(self) -> int:
        """Wait for the end of the program and return its exit status."""
        assert self.ended.wait(SECONDS), f"the program did not end within {SECONDS} seconds"
        assert self._status is not None, (
            f"the process ended without an exit status of the program: {self.stderr[-4000:]}"
        )
        return self._status

    def _receive(self) -> None:
        try:
            self._status = self._receive_output()
        finally:
            self.ended.set()

    def _receive_output(self) -> int | None:
        """Receive the output; return the exit status."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.stdout += line
        return self._process.wait()


class _RunningInSharedDriver(Running):
    def _receive_output(self) -> int | None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            kind, content = json.loads(line)
            if kind == "status":
                return int(content)
            if kind == "stderr":
                self._errors += content
            else:
                self.stdout += content
        return None


class Driver(Protocol):
    """Runs Spark programs."""

    def started(self, folder: Path, program: Path, *options: object) -> AbstractContextManager[Running]:
        """Start a program in a folder; wait for its end when the block ends."""


def completed(driver: Driver, folder: Path, program: Path, *options: object) -> Completed:
    """Run a program in a folder and return its exit status and output."""
    with driver.started(folder, program, *options) as running:
        status = running.wait()
    return Completed(status, running.stdout, running.stderr)


class OwnDriver:
    """Starts each program as a user does: in a separate process with its own driver."""

    @contextlib.contextmanager
    def started(self, folder: Path, program: Path, *options: object) -> Iterator[Running]:
        log = folder / "stderr.log"
        with log.open("w") as errors:
            process = subprocess.Popen(
                [sys.executable, program, *map(str, options)],
                cwd=folder,
                env=environment(),
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        with process:
            try:
                running = Running(process, log)
                yield running
                running.wait()
            finally:
                process.kill()


class SharedDriver:
    """A process with a Spark driver in which programs run sequentially.

    If a program did not end, or the process crashed, the next program runs in a new process.
    """

    def __init__(self, jars: Sequence[Path], folder: Path) -> None:
        self._jars = jars
        self._folder = folder
        self._log = folder / "driver.log"
        self._process: subprocess.Popen[str] | None = None
        self._running = False

    @contextlib.contextmanager
    def started(self, folder: Path, program: Path, *options: object) -> Iterator[Running]:
        process = self._ready()
        self._running = True
        running = _RunningInSharedDriver(process, self._log)
        assert process.stdin is not None
        request = {"command": [str(program), *map(str, options)], "folder": str(folder)}
        print(json.dumps(request), file=process.stdin, flush=True)
        yield running
        running.wait()
        self._running = False

    def close(self) -> None:
        """Stop the driver and its process."""
        process, self._process = self._process, None
        if process is None:
            return
        if self._running:
            process.kill()
            self._running = False
        with process:
            assert process.stdin is not None
            with contextlib.suppress(OSError):
                process.stdin.close()  # the process stops its session and exits
            try:
                process.wait(SECONDS)
            finally:
                process.kill()

    def _ready(self) -> subprocess.Popen[str]:
        if self._process is not None and (self._running or self._process.poll() is not None):
            self.close()
        if self._process is None:
            with self._log.open("a") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "tests.demo.driver", *map(str, self._jars)],
                    cwd=self._folder,
                    env=environment(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                )
        return self._process


def environment() -> dict[str, str]:
    """Return the environment of a Spark program.

    ``JAVA_TOOL_OPTIONS`` is removed, because a JVM reports it on standard error; ``SPARK_SUBMIT_OPTS`` has the same
    options for a driver. ``PYSPARK_PYTHON`` is set, because the shared driver starts before a program could set it.
    """
    inherited = {name: value for name, value in os.environ.items() if name != "JAVA_TOOL_OPTIONS"}
    return {**inherited, "PYTHONPATH": str(ROOT), **python_of_workers()}


class _Answers:
    """Sends lines of JSON; several threads may call it."""

    def __init__(self) -> None:
        # The JVM inherits standard output, which must carry nothing but answers.
        self._out = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        self._lock = threading.Lock()

    def send(self, kind: str, content: object) -> None:
        with self._lock:
            print(json.dumps([kind, content]), file=self._out, flush=True)


class _AnswerStream(io.TextIOBase):
    """A text stream that sends its text as answers."""

    def __init__(self, kind: str, answers: _Answers) -> None:
        self._kind = kind
        self._answers = answers

    def write(self, text: str, /) -> int:
        self._answers.send(self._kind, text)
        return len(text)


def serve(jars: Sequence[str]) -> None:
    """Start a driver with these jars and run the requested programs."""
    from pyspark.sql import SparkSession

    answers = _Answers()
    spark = spark_session("local[2]", {"spark.jars": ",".join(jars), "spark.log.level": "ERROR"})
    stop, SparkSession.stop = SparkSession.stop, lambda self: None  # type: ignore[method-assign]
    try:
        for line in sys.stdin:
            request = json.loads(line)
            os.chdir(request["folder"])
            with (
                contextlib.redirect_stdout(_AnswerStream("stdout", answers)),
                contextlib.redirect_stderr(_AnswerStream("stderr", answers)),
            ):
                status = run(request["command"])
            answers.send("status", status)
    finally:
        stop(spark)


def run(command: list[str]) -> int:
    """Run a program as ``python`` does and return its exit status."""
    sys.argv = command
    try:
        runpy.run_path(command[0], run_name="__main__")
    except SystemExit as exited:
        if exited.code is None or isinstance(exited.code, int):
            return exited.code or 0
        print(exited.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    serve(sys.argv[1:])
