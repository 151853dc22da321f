"""The web page of ``python -m pyrs top --http``."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from pyrs import __main__ as command_line
from pyrs._core.sites import Site
from pyrs._top import page
from pyrs._top.page import PageServer, connection_owner
from pyrs.jvm.status import StatusServer
from pyrs.jvm.streams import StreamStatus
from tests.serving import serving
from tests.waiting import DEADLINE

STREAM = StreamStatus(1, "to Python", "<b>Publisher</b>", "live", 5, 4, 3, 1_500, 0.0, 2, 1.0, Site("/a/b.py", 7))
STATUS = {"name": "shown", "state": "open", "streams_live": 3, "dropped": 9, "streams": [STREAM._asdict()]}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "pyrs"


@pytest.fixture
def server() -> Iterator[PageServer]:
    with serving(PageServer(interval=0.0)) as started:
        yield started


@pytest.fixture
def status() -> Iterator[StatusServer]:
    serving = StatusServer("shown", lambda: STATUS)
    yield serving
    serving.close()


def get(
    server: PageServer, path: str = "/", method: str = "GET", host: str | None = None
) -> tuple[int, dict[str, str], bytes]:
    port = server.server_address[1]
    connection = HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
    connection.request(method, path, headers={"Host": f"127.0.0.1:{port}" if host is None else host})
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, dict(response.getheaders()), body


def test_page_is_self_contained(server: PageServer) -> None:
    code, headers, body = get(server)
    text = body.decode()
    assert code == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
    assert re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?(?!data:)[^"' >]+""", text) == []
    policy = headers["Content-Security-Policy"]
    (nonce,) = set(re.findall(r"'nonce-([^']+)'", policy))
    assert policy.startswith("default-src 'none'; connect-src 'self';") and "unsafe" not in policy
    assert text.count(f'nonce="{nonce}"') == 2 and "NONCE" not in text
    assert f"nonce-{nonce}" not in get(server)[1]["Content-Security-Policy"]


def test_data_has_every_stream(server: PageServer, status: StatusServer) -> None:
    code, headers, body = get(server, "/streams")
    (bridge,) = json.loads(body)["bridges"]
    assert code == 200 and headers["Content-Type"] == "application/json; charset=utf-8"
    assert headers["Cache-Control"] == "no-store" and headers["X-Content-Type-Options"] == "nosniff"
    assert (bridge["pid"], bridge["name"], bridge["state"], bridge["streams_live"]) == (os.getpid(), "shown", "open", 3)
    (stream,) = bridge["streams"]
    assert dict(zip(json.loads(body)["columns"], stream["cells"], strict=True)) == {
        "stream": "1 to Python",
        "publisher": "<b>Publisher</b>",
        "state": "live",
        "demand": "5",
        "in flight": "4",
        "buffered": "3",
        "elements": "1,500",
        "rate/s": "1,500",
        "dropped": "2",
        "assembled at": "/a/b.py:7",
    }


def test_page_and_data_contain_no_token(server: PageServer, status: StatusServer) -> None:
    token = json.loads(status.file.read_text())["token"]
    for path in ("/", "/streams"):
        _, headers, body = get(server, path)
        assert token not in body.decode() + repr(headers) + server.address


def test_data_without_a_process_has_no_bridge(server: PageServer) -> None:
    assert json.loads(get(server, "/streams")[2])["bridges"] == []


def test_data_reports_a_folder_that_others_can_read(server: PageServer, folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o755)
    code, _, body = get(server, "/streams")
    assert code == 500 and "0700" in json.loads(body)["error"]


def test_pages_share_the_data_of_one_interval(status: StatusServer) -> None:
    with PageServer(interval=3_600.0) as server:
        before = server.content()
        status.close()
        assert server.content() is before


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"])
def test_other_methods_are_refused(server: PageServer, status: StatusServer, method: str) -> None:
    code, _, body = get(server, "/streams", method)
    assert code == 501 and b"shown" not in body


@pytest.mark.parametrize("path", ["/favicon.ico", "/../page.html", "http://127.0.0.1/streams", "/streams/"])
def test_other_paths_are_not_found(server: PageServer, status: StatusServer, path: str) -> None:
    code, _, body = get(server, path)
    assert code == 404 and b"shown" not in body


@pytest.mark.parametrize("host", ["127.0.0.1", "LOCALHOST:1", "localhost:65535"])
def test_host_of_this_machine_is_accepted(server: PageServer, host: str) -> None:
    assert get(server, "/streams", host=host)[0] == 200


@pytest.mark.parametrize(
    "host", ["", "evil.example", "127.0.0.1.evil.example", "localhost.evil", "evil@127.0.0.1", "127.0.0.1:x", "[::1]"]
)
@pytest.mark.parametrize("path", ["/", "/streams"])
def test_other_host_is_refused(server: PageServer, status: StatusServer, path: str, host: str) -> None:
    """A web page that uses DNS rebinding sends its own host name."""
    code, _, body = get(server, path, host=host)
    assert code == 403 and b"shown" not in body and b"script" not in body


@pytest.mark.parametrize("hosts", ["", "Host: localhost\r\nHost: evil\r\n"])
def test_missing_or_repeated_host_is_refused(server: PageServer, hosts: str) -> None:
    with socket.create_connection(server.server_address, timeout=DEADLINE) as connection:
        connection.sendall(f"GET /streams HTTP/1.1\r\n{hosts}\r\n".encode())
        received = b""
        while part := connection.recv(4096):
            received += part
    assert received.startswith(b"HTTP/1.0 403 ")


def test_server_listens_on_the_loopback_only(server: PageServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.server_address[1]}/"


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="Linux only")
def test_connection_of_another_user_is_closed(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_connection(server.server_address, timeout=DEADLINE) as connection:
        assert connection_owner(connection.getsockname(), server.server_address) == os.getuid()
    assert get(server)[0] == 200
    monkeypatch.setattr(page, "connection_owner", lambda client, server: os.getuid() + 1)
    with pytest.raises(ConnectionError):
        get(server)


@pytest.mark.parametrize(
    ("tables", "owner"),
    [
        ({}, None),
        ({"tcp": ["7F:1 7F:2 5"]}, -1),
        ({"tcp": ["0100007F:9C40 0100007F:1F90 1000"]}, 1000),
        ({"tcp": ["0100007F:1F90 0100007F:9C40 7"]}, -1),
        ({"tcp": [], "tcp6": ["0000000000000000FFFF00000100007F:9C40 0000000000000000FFFF00000100007F:1F90 6"]}, 6),
        ({"tcp": ["0100007F:9C40 0100007F:1F90 1"], "tcp6": ["A0100007F:9C40 A0100007F:1F90 2"]}, -1),
    ],
)
def test_owner_of_a_connection_is_read_from_the_socket_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tables: dict[str, list[str]], owner: int | None
) -> None:
    """The rows have the kernel's format. If an address pair belongs to several users, the owner is unknown (-1)."""
    for name, rows in tables.items():
        lines = ["0: {} {} 01 0:0 0:0 0 {} 0".format(*row.split()) for row in rows]
        (tmp_path / name).write_text("\n".join(["head", *lines]))
    monkeypatch.setattr(page, "_SOCKET_TABLES", [str(tmp_path / "tcp"), str(tmp_path / "tcp6")])
    monkeypatch.setattr(page.sys, "byteorder", "little")
    assert connection_owner(("127.0.0.1", 40_000), ("127.0.0.1", 8_080)) == owner


def test_unreadable_table_refuses_every_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading fails, for example, if many connections use up the file descriptors."""
    (tmp_path / "tcp").mkdir()
    monkeypatch.setattr(page, "_SOCKET_TABLES", [str(tmp_path / "tcp")])
    assert connection_owner(("127.0.0.1", 40_000), ("127.0.0.1", 8_080)) == -1


def test_command_serves_until_it_is_interrupted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(PageServer, "serve_forever", interrupted)
    assert command_line.main(["top", "--http"]) == 0
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/ \(press Ctrl-C to stop\)\n", capsys.readouterr().out)


def test_command_reports_a_port_in_use(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert command_line.main(["top", "--http", str(port)]) == 1
    assert f"port {port} of 127.0.0.1 cannot be used" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--http=65536"], ["--http=-1"], ["--http=x"], ["--http", "--json"]])
def test_wrong_arguments_are_usage_errors(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = command_line.main(["top", *arguments])
    except SystemExit as exited:
        code = exited.code
    assert code == 2 and "pyrs" in capsys.readouterr().err
