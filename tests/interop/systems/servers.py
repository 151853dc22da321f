"""Servers that the tests start: processes of their own, on loopback, in a temporary folder, stopped in the end."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

START_SECONDS = 120.0
"""A server that is not ready by then has failed; most are ready in a tenth of it."""
STOP_SECONDS = 20.0
POLL_SECONDS = 0.1


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def listening(port: int) -> bool:
    """Whether somebody accepts connections on the port."""
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
    """The process, once it is ready; its output is in ``folder/output.log``."""
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
        _await(process, ready, log)
        yield process
    finally:
        _stop(process)


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


def _tail(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-3000:]
