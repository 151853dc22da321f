"""Start server processes for tests: on loopback, in a temporary folder, stopped at the end."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

START_SECONDS = 120.0
"""The deadline for the start of a server; most need a tenth of it."""
STOP_SECONDS = 20.0
POLL_SECONDS = 0.1

WATCHDOG = """
import os, signal, sys
if not sys.stdin.read(1):
    os.killpg(int(sys.argv[1]), signal.SIGKILL)
"""
"""Kills a server whose tests were killed: the operating system then closes their end of the pipe."""


def small_java(heap: str) -> list[str]:
    """Return the start of a command for a JVM that starts fast and uses little memory."""
    java = shutil.which("java")
    if java is None:
        raise FileNotFoundError("java was not found: install a JDK")
    return [java, f"-Xmx{heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]


def logged(log: Path, words: str) -> bool:
    """Return whether a server has logged these words."""
    return words in log.read_text(encoding="utf-8", errors="replace")


def free_port() -> int:
    """Return a free loopback port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def listening(port: int) -> bool:
    """Return whether a server accepts connections on the port."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@contextlib.contextmanager
def running(
    command: Sequence[str],
    folder: Path,
    ready: Callable[[], bool],
    environment: Mapping[str, str] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server and yield its process when it is ready; it logs to ``folder/output.log``."""
    log = folder / "output.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=None if environment is None else dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        with killed_with_the_tests(process.pid):
            _await(process, ready, log)
            yield process
    finally:
        _stop(process)


@contextlib.contextmanager
def killed_with_the_tests(group: int) -> Iterator[None]:
    """Kill the process group if this process dies inside the block, by any signal."""
    command = [sys.executable, "-c", WATCHDOG, str(group)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as watchdog:
        try:
            yield
        finally:
            watchdog.communicate(b".")


def _await(process: subprocess.Popen[bytes], ready: Callable[[], bool], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while not ready():
        with contextlib.suppress(subprocess.TimeoutExpired):
            raise RuntimeError(f"the server exited with {process.wait(POLL_SECONDS)}:\n{_tail(log)}")
        if time.monotonic() > end:
            raise TimeoutError(f"the server was not ready within {START_SECONDS} s:\n{_tail(log)}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(STOP_SECONDS)
    with contextlib.suppress(ProcessLookupError):  # the server may have left child processes
        os.killpg(process.pid, signal.SIGKILL)


def _tail(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-3000:]
