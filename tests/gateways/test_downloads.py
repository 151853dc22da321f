"""Every failure of a download is reported as ``JvmUnavailable`` with the remedy."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from pyrs.errors import JvmUnavailable
from pyrs.jvm.downloads import Jar, cached_jar
from tests.waiting import on_threads

JAR = Jar("group/artifact/1/artifact-1.jar", "0" * 64)


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/with space", "http://127.0.0.1:port"])
def test_malformed_address_is_reported(address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYRS_MAVEN_REPOSITORY", address)
    with pytest.raises(JvmUnavailable, match="set PYRS_MAVEN_REPOSITORY"):
        cached_jar(JAR, tmp_path, "the test")


@pytest.mark.parametrize(
    "answer",
    [
        b"no HTTP\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nthe connection ends here",
        b"HTTP/1.1 200 OK\r\n" + b"Name: value\r\n" * 200 + b"\r\n",
    ],
    ids=["status line", "chunk", "headers"],
)
def test_malformed_answer_is_reported(answer: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("PYRS_MAVEN_REPOSITORY", f"http://127.0.0.1:{server.getsockname()[1]}")

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4_096)
                connection.sendall(answer)

        with on_threads(serve), pytest.raises(JvmUnavailable, match="cannot be read"):
            cached_jar(JAR, tmp_path, "the test")
    assert not list(tmp_path.iterdir())
