"""The server of read_stream, without Spark: its address, and failures to accept a planner."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

pytest.importorskip("pyspark.sql.datasource")

from pyrs.spark.source.server import Server
from tests.spark.planners import Planner
from tests.waiting import DEADLINE


def opened() -> Server:
    """Return a server that answers 7 to each request."""
    return Server(lambda question, wanted: [b"7"], lambda: False, lambda: True, lambda: None)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr("pyrs.spark.source.server._CHECK_SECONDS", 0.02)
    server = opened()
    yield server
    server.close()


def is_answered_by(server: Server) -> bool:
    planner = Planner(server)
    try:
        return bool(planner.reader.initialOffset() == 7)
    finally:
        planner.reader.stop()


def test_the_server_listens_on_the_loopback_of_spark_s_ip_version(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    monkeypatch.setenv("SPARK_PREFER_IPV6", "true")
    server = opened()
    try:
        assert server.host == "::1"
        assert is_answered_by(server)
    finally:
        server.close()


class FailingListener:
    """Fails once, as in a process with too many open files."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.failed = Event()

    def accept(self) -> tuple[socket.socket, Any]:
        if not self.failed.is_set():
            self.failed.set()
            raise OSError(24, "Too many open files")
        return self._listener.accept()

    def close(self) -> None:
        self._listener.close()


def test_failure_to_accept_a_connection_does_not_end_the_server(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    listener = FailingListener(server._listener)
    monkeypatch.setattr(server, "_listener", listener)
    assert listener.failed.wait(DEADLINE)
    assert is_answered_by(server)
    assert "Too many open files" in caplog.text


def test_failure_to_start_a_thread_does_not_end_the_server(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any, **options: Any) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr("pyrs.spark.source.server.Thread", fail)
        with socket.create_connection((server.host, server.port)) as refused:
            assert refused.recv(1) == b""
    assert is_answered_by(server)


def test_the_planner_receives_an_error_whose_text_utf_8_cannot_encode() -> None:
    def fail(question: Any, wanted: Any) -> list[bytes]:
        raise ValueError("no such file: caf\udce9")  # a name whose bytes are not UTF-8

    server = Server(fail, lambda: False, lambda: True, lambda: None)
    planner = Planner(server)
    try:
        with pytest.raises(RuntimeError, match=r"^ValueError: no such file: caf\\udce9$"):
            planner.reader.initialOffset()
    finally:
        planner.reader.stop()
        server.close()
