"""The examples with options: a database into Spark, and Spark to HTTP clients."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.demo.driver import Driver, OwnDriver, Running, SharedDriver, completed
from tests.interop.harness import LIBRARIES, library_jars
from tests.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 600.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2 * SECONDS)]


R2DBC_TO_SPARK = ROOT / "examples" / "r2dbc_to_spark.py"
SPARK_TO_SSE = ROOT / "examples" / "spark_to_sse.py"


def run(folder: Path, program: Path, *options: object) -> subprocess.CompletedProcess[str]:
    """Run a program that starts no driver."""
    return subprocess.run(
        [sys.executable, program, *map(str, options)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def only(folder: Path, *names: str) -> Path:
    """Create a folder with the jars whose names start with one of these."""
    folder.mkdir()
    for jar in library_jars():
        if jar.name.startswith(names):
            (folder / jar.name).symlink_to(jar)
    return folder


@pytest.fixture(scope="module")
def _shared_driver_without_reactor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedDriver]:
    folder = tmp_path_factory.mktemp("driver")
    driver = SharedDriver(sorted(only(folder / "jars", "reactive-streams-1").glob("*.jar")), folder)
    yield driver
    driver.close()


@pytest.fixture(params=["shared", pytest.param("own", marks=pytest.mark.campaign)])
def driver_without_reactor(request: pytest.FixtureRequest) -> Driver:
    """Return a driver without Reactor and R2DBC, for programs that receive their jars by ``--jars``."""
    own: Driver = OwnDriver()
    return request.getfixturevalue("_shared_driver_without_reactor") if request.param == "shared" else own


# A database into Spark.


def test_table_reaches_spark_with_bounded_demand(driver: Driver, tmp_path: Path) -> None:
    options = ("--rows", 4_000, "--frame", 500, "--window", 64, "--jars", LIBRARIES)
    done = completed(driver, tmp_path, R2DBC_TO_SPARK, *options)
    assert done.returncode == 0, done.stderr[-4000:]
    copied, demand, *means = done.stdout.splitlines()
    assert re.fullmatch(r"3600 rows in \d+ DataFrames of at most 500 rows", copied)
    # One frame is being written and one filled, a tenth of the rows are filtered out, the rest is on the bridge.
    ahead = re.fullmatch(r"at most (\d+) requested rows were not yet in Spark", demand)
    assert ahead is not None
    assert 500 < int(ahead[1]) <= 2 * 500 + 2 * 64
    assert means == [f"sensor-{n}: {10 + 5 * n}.0 degrees Celsius" for n in range(3)]
    assert list(tmp_path.glob("readings*")) == []


def test_missing_r2dbc_is_reported(driver_without_reactor: Driver, tmp_path: Path) -> None:
    jars = only(tmp_path / "jars", "reactor-core", "reactive-streams-1")
    done = completed(driver_without_reactor, tmp_path, R2DBC_TO_SPARK, "--jars", jars)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "r2dbc_to_spark: no R2DBC in this driver: pass --packages io.r2dbc:r2dbc-h2:1.0.0.RELEASE"
    )


@pytest.mark.parametrize("program", [R2DBC_TO_SPARK, SPARK_TO_SSE], ids=lambda program: program.stem)
def test_folder_without_jars_is_rejected_before_spark_starts(tmp_path: Path, program: Path) -> None:
    done = run(tmp_path, program, "--jars", tmp_path)
    assert done.returncode == 2
    assert "there is no jar in" in done.stderr


@pytest.mark.parametrize("program", [R2DBC_TO_SPARK, SPARK_TO_SSE], ids=lambda program: program.stem)
def test_help_names_the_options(tmp_path: Path, program: Path) -> None:
    done = run(tmp_path, program, "--help")
    assert done.returncode == 0
    assert "--packages" in done.stdout
    assert "Run it: python examples/" in done.stdout


# Spark to HTTP clients.


class Server:
    """spark_to_sse as a running program, with its output and its URL."""

    def __init__(self, program: Running) -> None:
        self.program = program
        self.url = self.wait_for("http://")

    @property
    def lines(self) -> list[str]:
        """The complete lines of output so far."""
        return self.program.stdout.split("\n")[:-1]

    def wait_for(self, start: str) -> str:
        """Wait for a line that begins with ``start``, and return it."""

        def found() -> list[str]:
            ended = self.program.ended.is_set()
            lines = [line for line in self.lines if line.startswith(start)]
            assert lines or not ended, f"the program ended: {self.lines}, {self.program.stderr[-4000:]}"
            return lines

        eventually(found, lambda: f"no line {start!r} in {self.lines}", SECONDS)
        return found()[0]

    def batches(self, client: int) -> int:
        return sum(line.startswith(f"client {client}: batch") for line in self.lines)

    def stop(self) -> None:
        """Interrupt the program, as Ctrl-C does."""
        self.program.interrupt()
        self.wait_for("stopped")
        assert self.program.wait() == 0


@contextmanager
def serving(driver: Driver, folder: Path, *options: object) -> Iterator[Server]:
    with driver.started(folder, SPARK_TO_SSE, *options, "--port", 0, "--jars", LIBRARIES) as program:
        server = Server(program)
        yield server
        if not program.ended.is_set():
            server.stop()


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


def test_slow_client_slows_its_own_query_only_and_a_disconnect_stops_it(driver: Driver, tmp_path: Path) -> None:
    large = folder_of(tmp_path / "in", ["x" * 2_000_000] * 16)
    options = (large, "--schema", "n long, text string", "--once", "--clients", 2)
    with serving(driver, tmp_path, *options) as server:
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
        errors = server.program.stderr
        assert not re.search("Exception|Error|Traceback", errors), errors


def test_next_client_resumes_and_a_failure_is_the_last_event(driver: Driver, tmp_path: Path) -> None:
    small = folder_of(tmp_path / "in", ["a", "b", "c"])
    (small / "003.json.gz").write_bytes(b"\x1f\x8b this is not gzip")
    options = (small, "--schema", "n long, text string", "--checkpoint", tmp_path / "checkpoint", "--most", 2)
    with serving(driver, tmp_path, *options) as server:
        # Each client receives two batches. It requests no third one, so the second is not acknowledged and is repeated.
        first, second, third = get(server.url), get(server.url), get(server.url)
        assert (ids(first), first[-1]["event"]) == ([0, 1], "end")
        assert (ids(second), second[-1]["event"]) == ([1, 2], "end")
        assert (ids(third), third[-1]["event"]) == ([2], "failed")
        assert json.loads(third[-1]["data"])


def test_missing_reactor_is_reported(driver_without_reactor: Driver, tmp_path: Path) -> None:
    jars = only(tmp_path / "jars", "reactive-streams-1")
    done = completed(driver_without_reactor, tmp_path, SPARK_TO_SSE, "--jars", jars)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "spark_to_sse: no Reactor in this driver: pass --packages io.projectreactor:reactor-core:3.7.12"
    )
