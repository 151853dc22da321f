"""The server of ``Bridge.serve_status`` and its client ``python -m pyrs top``."""

from __future__ import annotations

import io
import json
import logging
import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from plain_session import PlainSession

from pyrs import __main__ as command_line
from pyrs import _top
from pyrs.jvm import status
from pyrs.jvm.status import StatusServer, status_folder
from pyrs.jvm.streams import StreamStatus, as_json
from pyrs.testing import TestSubscriber
from tests.waiting import DEADLINE, eventually


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "pyrs"


@pytest.fixture
def serve() -> Iterator[Callable[..., StatusServer]]:
    servers: list[StatusServer] = []

    def start(answer: Callable[[], dict[str, Any]] = lambda: STATUS, name: str = "bridge-1") -> StatusServer:
        servers.append(StatusServer(name, answer))
        return servers[-1]

    yield start
    for each in servers:
        each.close()
    eventually(lambda: not [each for each in threading.enumerate() if each.name.startswith("pyrs-status")])


STATUS: dict[str, Any] = {"name": "bridge-1", "state": "open", "streams_live": 0, "dropped": 0, "streams": []}


def token_of(server: StatusServer) -> str:
    return str(json.loads(server.file.read_text())["token"])


def get(server: StatusServer, token: str | None, path: str = "/streams", method: str = "GET") -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=DEADLINE)
    connection.request(method, path, headers={} if token is None else {"Authorization": f"Bearer {token}"})
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, body


def raw(server: StatusServer, data: bytes) -> bytes:
    """Send bytes and read until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE) as connection:
        received = b""
        try:
            connection.sendall(data)
            while part := connection.recv(4096):
                received += part
        except ConnectionError:
            pass
        return received


def test_a_request_with_the_token_gets_the_status(serve: Callable[..., StatusServer]) -> None:
    server = serve()
    code, body = get(server, token_of(server))
    assert (code, json.loads(body)) == (200, STATUS)


@pytest.mark.parametrize("token", [None, "", "0" * 64, "é"])
def test_a_request_without_the_token_is_refused(serve: Callable[..., StatusServer], token: str | None) -> None:
    called: list[int] = []
    server = serve(lambda: called.append(1) or STATUS)
    code, body = get(server, token)
    assert code == 401 and b"streams_live" not in body and not called


def test_the_status_is_read_only(serve: Callable[..., StatusServer]) -> None:
    server = serve()
    token = token_of(server)
    assert [get(server, token, method=method)[0] for method in ("POST", "PUT", "DELETE")] == [501] * 3
    assert get(server, token, "/")[0] == get(server, token, "/../streams")[0] == 404


def test_the_server_listens_on_the_loopback_only(serve: Callable[..., StatusServer]) -> None:
    assert serve()._listener.getsockname()[0] == "127.0.0.1"


def test_a_long_request_is_not_answered(serve: Callable[..., StatusServer]) -> None:
    server = serve()
    assert raw(server, b"GET /streams HTTP/1.0\r\nX: " + b"a" * 10_000 + b"\r\n\r\n") == b""
    assert get(server, token_of(server))[0] == 200


def test_an_incomplete_request_is_abandoned(
    serve: Callable[..., StatusServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "_REQUEST_SECONDS", 0.05)
    server = serve()
    assert raw(server, b"GET /streams") == b""


def test_silent_connections_do_not_block_the_server(serve: Callable[..., StatusServer]) -> None:
    server = serve()
    silent = [socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE) for _ in range(20)]
    assert get(server, token_of(server))[0] == 200
    assert len(server._open) <= 8
    # A thread may still run for a moment after its connection was closed.
    eventually(lambda: len([each for each in threading.enumerate() if each.name == "pyrs-status-request"]) <= 8)
    assert silent[0].recv(1) == b"", "the oldest connection was not closed"
    for each in silent:
        each.close()


def test_the_file_is_readable_by_its_user_only(serve: Callable[..., StatusServer], folder: Path) -> None:
    server = serve()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(server.file.stat().st_mode) == 0o600
    server.close()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o777])
def test_a_folder_that_others_can_read_is_refused(folder: Path, mode: int) -> None:
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(PermissionError, match="0700"):
        StatusServer("bridge-1", lambda: STATUS)
    with pytest.raises(PermissionError, match="0700"):
        _top.run(once=True)
    assert list(folder.iterdir()) == []


def test_a_symbolic_link_in_place_of_the_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "other")
    with pytest.raises(PermissionError, match="0700"):
        StatusServer("bridge-1", lambda: STATUS)


def test_without_a_runtime_folder_the_status_folder_is_named_after_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert status_folder().name == f"pyrs-{os.getuid()}"


def test_the_token_is_not_logged(serve: Callable[..., StatusServer], caplog: pytest.LogCaptureFixture) -> None:
    def fails() -> dict[str, Any]:
        raise RuntimeError("planned")

    with caplog.at_level(logging.DEBUG):
        server = serve(fails)
        token = token_of(server)
        assert get(server, token)[0] == 500
    assert "planned" in caplog.text and token not in caplog.text
    assert token not in repr(server) and token not in " ".join(os.environ.values()) + " ".join(sys.argv)


def test_a_forked_process_does_not_remove_the_file(serve: Callable[..., StatusServer]) -> None:
    server = serve()
    server._pid += 1
    server.close()
    assert server.file.exists()
    server._pid -= 1


# The tests below run ``python -m pyrs top``.


def printed(**options: Any) -> tuple[int, str]:
    file = io.StringIO()
    return _top.run(file=file, **options), file.getvalue()


def test_top_shows_the_streams_of_every_bridge(serve: Callable[..., StatusServer]) -> None:
    session = PlainSession()
    session.subscribe(7, TestSubscriber(1_500))
    serve(lambda: as_json("bridge-1", "open", session))
    serve(name="bridge-2")
    code, text = printed(once=True)
    assert code == 0
    assert text.count(f"process {os.getpid()}, bridge-") == 2
    assert "Publisher 7 of the JVM" in text and "1,500" in text and "no live stream" in text


def test_top_distinguishes_bridges_of_the_same_name(serve: Callable[..., StatusServer]) -> None:
    for _ in range(3):
        serve()
    assert [bridge.name for bridge in _top.read_all(status_folder())] == ["bridge-1", "bridge-1 (2)", "bridge-1 (3)"]


def test_top_prints_json(serve: Callable[..., StatusServer]) -> None:
    session = PlainSession()
    session.subscribe(7, TestSubscriber(2))
    serve(lambda: as_json("bridge-1", "open", session))
    code, text = printed(as_json=True)
    (bridge,) = json.loads(text)
    assert code == 0 and bridge["pid"] == os.getpid()
    assert bridge["streams"][0]["demand"] == 2 and bridge["streams"][0]["direction"] == "to Python"


def test_top_without_a_process_shows_how_to_serve_the_status() -> None:
    code, text = printed(once=True)
    assert code == 1 and "bridge.serve_status()" in text
    assert printed(as_json=True) == (1, "[]\n")


def test_top_refreshes_at_the_interval_until_it_is_interrupted(serve: Callable[..., StatusServer]) -> None:
    stream = StreamStatus(1, "to Python", "p", "live", 0, 0, 0, 10, 0.0, 0, 1.0, None)._asdict()
    serve(lambda: {**STATUS, "streams_live": 3, "streams": [stream]})
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            raise KeyboardInterrupt

    code, text = printed(interval=0.5, wait=wait)
    assert (code, waits) == (0, [0.5] * 3)
    assert text.count("live streams: 3") == 3 and text.count("and 2 more") == 3
    assert "\x1b" not in text, "an escape sequence was written to a file"


def test_top_clears_the_screen_of_a_terminal(serve: Callable[..., StatusServer]) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def wait(seconds: float) -> None:
        raise KeyboardInterrupt

    serve()
    file = Terminal()
    assert _top.run(file=file, wait=wait) == 0
    assert file.getvalue().startswith("\x1b[H\x1b[2J") and "bridge-1" in file.getvalue()


def test_top_prints_no_control_characters_of_a_name(serve: Callable[..., StatusServer]) -> None:
    serve(lambda: {**STATUS, "name": "a\x1b]0;title\x07\nb"})
    assert "a?]0;title??b, open" in printed(once=True)[1]


@pytest.mark.parametrize(
    "answer", [{}, {**STATUS, "streams": [1]}, {**STATUS, "streams": [{}]}, {**STATUS, "dropped": float("inf")}]
)
def test_top_reports_an_invalid_answer(serve: Callable[..., StatusServer], answer: dict[str, Any]) -> None:
    serve(lambda: answer)
    code, text = printed(once=True)
    assert code == 0 and "status cannot be read" in text


def test_top_reports_a_too_deeply_nested_answer(
    serve: Callable[..., StatusServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    serve()
    monkeypatch.setattr("http.client.HTTPResponse.read", lambda response, size: b"[" * 200_000)
    code, text = printed(once=True)
    assert code == 0 and "status cannot be read (RecursionError)" in text


def test_top_removes_the_file_of_a_process_that_ended(folder: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(DEADLINE)
    folder.mkdir(mode=0o700)
    file = folder / f"{ended.pid}-1.json"
    file.write_text(json.dumps({"pid": ended.pid, "port": 1, "token": "t", "name": "n"}))
    file.chmod(0o600)
    assert printed(once=True)[0] == 1
    assert not file.exists()


@pytest.mark.parametrize(
    ("content", "mode"),
    [
        ("not json", 0o600),
        ("[]", 0o600),
        ('{"pid": 0, "port": 1, "token": "t", "name": "n"}', 0o600),
        ('{"pid": 1, "port": 70000, "token": "t", "name": "n"}', 0o600),
        ('{"pid": "1", "port": 1, "token": "t", "name": "n"}', 0o600),
        (" " * 5_000, 0o600),
        ("[" * 4_000, 0o600),
        (f'{{"pid": {os.getpid()}, "port": 1, "token": "t", "name": "n"}}', 0o644),
    ],
)
def test_top_ignores_invalid_files(folder: Path, content: str, mode: int) -> None:
    folder.mkdir(mode=0o700)
    file = folder / "1-1.json"
    file.write_text(content)
    file.chmod(mode)
    assert printed(once=True)[0] == 1
    assert file.exists()


def test_the_command_line_runs_top(
    serve: Callable[..., StatusServer], capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    serve()
    assert command_line.main(["top", "--once"]) == 0
    assert "bridge-1, open" in capsys.readouterr().out
    folder.chmod(0o755)
    assert command_line.main(["top", "--json"]) == 1
    assert "0700" in capsys.readouterr().err


@pytest.mark.parametrize("interval", ["0", "nan", "-1", "x", "1e9"])
def test_an_interval_out_of_range_is_a_usage_error(interval: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        command_line.main(["top", f"--interval={interval}"])
    assert exited.value.code == 2
