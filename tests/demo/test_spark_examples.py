"""The examples with options: a database into Spark, and Spark to HTTP clients."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.interop.harness import LIBRARIES, library_jars

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 600.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2 * SECONDS)]


def command(name: str, *options: object) -> list[str]:
    return [sys.executable, str(ROOT / "examples" / f"{name}.py"), *map(str, options)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def run(folder: Path, name: str, *options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(name, *options),
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def only(folder: Path, *names: str) -> Path:
    """Create a folder with the jars whose names start so."""
    folder.mkdir()
    for jar in library_jars():
        if jar.name.startswith(names):
            (folder / jar.name).symlink_to(jar)
    return folder


# A database into Spark.


def test_table_reaches_spark_with_bounded_demand(tmp_path: Path) -> None:
    done = run(tmp_path, "r2dbc_to_spark", "--rows", 4_000, "--frame", 500, "--window", 64, "--jars", LIBRARIES)
    assert done.returncode == 0, done.stderr[-4000:]
    copied, demand, *means = done.stdout.splitlines()
    assert re.fullmatch(r"3600 rows in \d+ DataFrames of at most 500 rows", copied)
    # One frame is being written and one filled, a tenth of the rows are filtered out, the rest is on the bridge.
    ahead = re.fullmatch(r"at most (\d+) requested rows were not yet in Spark", demand)
    assert ahead is not None
    assert 500 < int(ahead[1]) <= 2 * 500 + 2 * 64
    assert means == [f"sensor-{n}: {10 + 5 * n}.0 degrees Celsius" for n in range(3)]
    assert list(tmp_path.glob("readings*")) == []


def test_missing_r2dbc_is_reported(tmp_path: Path) -> None:
    done = run(tmp_path, "r2dbc_to_spark", "--jars", only(tmp_path / "jars", "reactor-core", "reactive-streams-1"))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "r2dbc_to_spark: no R2DBC in this driver: start it with --packages io.r2dbc:r2dbc-h2:1.0.0.RELEASE"
    )


@pytest.mark.parametrize("name", ["r2dbc_to_spark", "spark_to_sse"])
def test_folder_without_jars_is_rejected_before_spark_starts(tmp_path: Path, name: str) -> None:
    done = run(tmp_path, name, "--jars", tmp_path)
    assert done.returncode == 2
    assert "there is no jar in" in done.stderr


@pytest.mark.parametrize("name", ["r2dbc_to_spark", "spark_to_sse"])
def test_help_names_the_options(tmp_path: Path, name: str) -> None:
    done = run(tmp_path, name, "--help")
    assert done.returncode == 0
    assert "--packages" in done.stdout
    assert "Run it: python examples/" in done.stdout


# Spark to HTTP clients.


class Server:
    """spark_to_sse in its own process, with its output and its URL."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.url = ""
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self._exited = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._exited = True
            self._changed.notify_all()

    def wait_for(self, start: str) -> str:
        def found() -> list[str]:
            return [line for line in self.lines if line.startswith(start)]

        with self._changed:
            assert self._changed.wait_for(lambda: found() or self._exited, SECONDS), self.lines
            assert found(), f"the process exited after {self.lines}"
            return found()[0]

    def batches(self, client: int) -> int:
        with self._changed:
            return sum(line.startswith(f"client {client}: batch") for line in self.lines)

    def stop(self) -> None:
        """Press Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        assert self.wait_for("stopped")
        assert self.process.wait(SECONDS) == 0

    def kill(self) -> None:
        self.process.kill()
        self._reader.join(SECONDS)


@contextmanager
def serving(folder: Path, *options: object) -> Iterator[Server]:
    with (folder / "errors").open("w") as errors:
        process = subprocess.Popen(
            command("spark_to_sse", *options, "--port", 0, "--jars", LIBRARIES),
            cwd=folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        with process:
            server = Server(process)
            try:
                server.url = server.wait_for("http://")
                yield server
                if process.poll() is None:
                    server.stop()
            finally:
                server.kill()
                sys.stderr.write((folder / "errors").read_text()[-4000:])


def events_in(response: Any) -> Iterator[dict[str, str]]:
    """Parse a text/event-stream as an EventSource does."""
    event: dict[str, str] = {}
    for line in response:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name:
            event[name] = value
        else:
            yield event
            event = {}


def get(url: str) -> list[dict[str, str]]:
    with urllib.request.urlopen(url, timeout=SECONDS) as response:
        assert response.headers["Content-Type"] == "text/event-stream"
        return list(events_in(response))


def slow_client(url: str) -> http.client.HTTPConnection:
    """Connect a client with a small receive buffer."""
    connection = http.client.HTTPConnection(url.split("/")[2], timeout=SECONDS)
    connection.sock = socket.socket()
    connection.sock.settimeout(SECONDS)
    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    connection.sock.connect((connection.host, connection.port))
    connection.request("GET", "/")
    return connection


def folder_of(folder: Path, texts: list[str]) -> Path:
    """Write each text to a file, with ascending modification times."""
    folder.mkdir()
    for at, text in enumerate(texts):
        file = folder / f"{at:03}.json"
        file.write_text(json.dumps({"n": at, "text": text}))
        os.utime(file, (time.time() - 1000 + at,) * 2)
    return folder


def ids(events: list[dict[str, str]]) -> list[int]:
    return [int(event["id"]) for event in events if "id" in event]


def test_slow_client_slows_its_own_query_only_and_a_disconnect_stops_it(tmp_path: Path) -> None:
    large = folder_of(tmp_path / "in", ["x" * 2_000_000] * 16)
    options = (large, "--schema", "n long, text string", "--once", "--clients", 2)
    with serving(tmp_path, *options) as server:
        slow, leaving = slow_client(server.url), slow_client(server.url)
        slowly = events_in(slow.getresponse())
        assert next(slowly)["id"] == "0"
        server.wait_for("client 2: batch 0")
        with pytest.raises(urllib.error.HTTPError, match="503") as refused:
            get(server.url)
        refused.value.close()

        leaving.close()
        server.wait_for("client 2: its query has finished")
        # This client reads everything; the slow client's query waits for demand only.
        every = get(server.url)
        assert ids(every) == list(range(16))
        assert every[-1] == {"event": "end", "data": "{}"}
        assert server.batches(1) < 10
        assert server.batches(2) < 10

        rest = list(slowly)
        slow.close()
        assert ids(rest) == list(range(1, 16))
        assert [row["n"] for event in rest[:-1] for row in json.loads(event["data"])] == list(range(1, 16))
        assert rest[-1]["event"] == "end"

        last = slow_client(server.url)
        assert next(events_in(last.getresponse()))["id"] == "0"
        server.stop()
        last.close()
        errors = (tmp_path / "errors").read_text()
        assert not re.search("Exception|Error|Traceback", errors), errors


def test_next_client_resumes_and_a_failure_is_the_last_event(tmp_path: Path) -> None:
    small = folder_of(tmp_path / "in", ["a", "b", "c"])
    (small / "003.json.gz").write_bytes(b"\x1f\x8b this is no gzip")
    options = (small, "--schema", "n long, text string", "--checkpoint", tmp_path / "checkpoint", "--most", 2)
    with serving(tmp_path, *options) as server:
        # Two batches each: without a request for a third the second was not acknowledged, so it is repeated.
        first, second, third = get(server.url), get(server.url), get(server.url)
        assert (ids(first), first[-1]["event"]) == ([0, 1], "end")
        assert (ids(second), second[-1]["event"]) == ([1, 2], "end")
        assert (ids(third), third[-1]["event"]) == ([2], "failed")
        assert json.loads(third[-1]["data"])


def test_missing_reactor_is_reported(tmp_path: Path) -> None:
    done = run(tmp_path, "spark_to_sse", "--jars", only(tmp_path / "jars", "reactive-streams-1"))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "spark_to_sse: no Reactor in this driver: start it with --packages io.projectreactor:reactor-core:3.7.12"
    )
