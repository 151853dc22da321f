"""Serve the live streams as a web page: ``python -m pyrs top --http``.

The server listens on the loopback interface and answers GET requests only. It refuses requests for other host names,
which a web page could send after DNS rebinding. On Linux, it also refuses connections of other users.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import sys
from contextlib import suppress
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from importlib import resources
from pathlib import Path
from socketserver import TCPServer, ThreadingMixIn
from threading import Lock
from time import monotonic
from typing import Any, TextIO

from pyrs._top import as_dicts, read_all, with_rates
from pyrs.jvm.status import status_folder
from pyrs.jvm.streams import COLUMNS, Rates, StreamStatus, cells

_HOST = "127.0.0.1"
_HOST_HEADER = re.compile(r"(127\.0\.0\.1|localhost)(:\d{1,5})?", re.IGNORECASE | re.ASCII)
_SOCKET_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_POLICY = (
    "default-src 'none'; connect-src 'self'; img-src data:; style-src 'nonce-{0}'; script-src 'nonce-{0}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def run(port: int, *, interval: float = 1.0, file: TextIO | None = None) -> int:
    """Serve the page until Ctrl-C; return 1 if the port cannot be used."""
    try:
        server = PageServer(port, interval)
    except OSError as error:
        print(f"pyrs top: port {port} of {_HOST} cannot be used: {error.strerror or error}", file=sys.stderr)
        return 1
    with server:
        print(f"{server.address} (press Ctrl-C to stop)", file=file or sys.stdout, flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever(poll_interval=0.1)
    return 0


class PageServer(ThreadingMixIn, TCPServer):
    """Answers requests for the page and its data, each on a thread.

    Port 0 selects a free port. The page refreshes itself after each ``interval`` in seconds.

    Raises:
        OSError: the port cannot be used.
    """

    allow_reuse_address = os.name != "nt"  # on Windows, two processes could then listen on the same port
    daemon_threads = True

    def __init__(self, port: int = 0, interval: float = 1.0) -> None:
        super().__init__((_HOST, port), _PageHandler)
        self.address = f"http://{_HOST}:{self.server_address[1]}/"
        self._interval = interval
        self._rates = Rates()
        self._lock = Lock()
        self._content: tuple[int, bytes] = (HTTPStatus.OK, b"")
        self._expires = 0.0

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Return whether the connection is one of this user.

        Every connection is accepted on a system that does not report its owner.
        """
        owner = connection_owner(client_address, (_HOST, self.server_address[1]))
        return owner is None or owner == os.getuid()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report a defect; ignore a client that closed its connection or sent no request."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def content(self) -> tuple[int, bytes]:
        """Return a status and JSON with the live streams.

        Several pages share a result for half an interval.
        """
        with self._lock:
            if monotonic() >= self._expires:
                self._content = self._read()
                self._expires = monotonic() + self._interval / 2
            return self._content

    def _read(self) -> tuple[int, bytes]:
        try:
            bridges = with_rates(list(read_all(status_folder())), self._rates)
        except PermissionError as error:
            return HTTPStatus.INTERNAL_SERVER_ERROR, json.dumps({"error": str(error)}).encode()
        content = {"interval": self._interval, "columns": COLUMNS, "bridges": as_dicts(bridges, _as_dict)}
        return HTTPStatus.OK, json.dumps(content).encode()


class _PageHandler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: PageServer
    server_version = "pyrs"
    sys_version = ""
    timeout = 5.0

    def do_GET(self) -> None:
        """Send the page or its data."""
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or _HOST_HEADER.fullmatch(hosts[0].strip()) is None:
            self._answer(HTTPStatus.FORBIDDEN, "text/plain", b"open the page as 127.0.0.1 or localhost\n")
        elif self.path == "/":
            nonce = secrets.token_urlsafe(16)
            page = _page().replace("NONCE", nonce).encode()
            self._answer(HTTPStatus.OK, "text/html", page, {"Content-Security-Policy": _POLICY.format(nonce)})
        elif self.path == "/streams":
            status, content = self.server.content()
            self._answer(status, "application/json", content)
        else:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"the only page is /\n")

    def _answer(self, status: int, content_type: str, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{content_type}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        for name, value in {**_HEADERS, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the terminal shows the address."""


@cache
def _page() -> str:
    return (resources.files("pyrs._top") / "page.html").read_text(encoding="utf-8")


def _as_dict(stream: StreamStatus) -> dict[str, Any]:
    return {**stream._asdict(), "site": "" if stream.site is None else str(stream.site), "cells": cells(stream)}


def connection_owner(client: tuple[str, int], server: tuple[str, int]) -> int | None:
    """Return the user at the client's end of a loopback connection.

    Returns None on a system without a table of sockets. -1 means that the user is not known: the connection is in no
    table, or the table cannot be read.
    """
    ends = _in_table(client), _in_table(server)
    owners: set[int] = set()
    for table in _SOCKET_TABLES:
        try:
            lines = Path(table).read_text(encoding="ascii", errors="replace").splitlines()[1:]
        except FileNotFoundError:
            if table == _SOCKET_TABLES[0]:
                return None
            continue
        except OSError:  # for example no free file descriptor, which must not admit other users
            return -1
        for line in lines:
            fields = line.split()
            # An IPv6 socket has the IPv4 address at the end of a longer one.
            if len(fields) > 7 and fields[1].endswith(ends[0]) and fields[2].endswith(ends[1]):
                owners.add(int(fields[7]))
    return owners.pop() if len(owners) == 1 else -1


def _in_table(address: tuple[str, int]) -> str:
    """Return an IPv4 address and port as the kernel writes them."""
    return f"{int.from_bytes(socket.inet_aton(address[0]), sys.byteorder):08X}:{address[1]:04X}"
