"""Serve the live streams of a bridge to ``python -m pyrs top`` of the same user.

The server listens on the loopback interface. Its port and its token are in a file that only the user can read, and a
request without the token is rejected. A request is answered with JSON, and changes nothing.
"""

from __future__ import annotations

import atexit
import hmac
import json
import logging
import os
import secrets
import socket
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from itertools import count
from pathlib import Path
from threading import BoundedSemaphore, Event, Thread
from time import monotonic
from typing import Any

PATH = "/streams"
MAX_FILE = 4_096
"""The largest size of a status file."""

_log = logging.getLogger("pyrs.jvm")
_HOST = "127.0.0.1"
_MAX_CONNECTIONS = 8
_MAX_REQUEST = 8_192
_REQUEST_SECONDS = 5.0
_PAUSE_SECONDS = 0.1
_numbers = count(1)


def status_folder() -> Path:
    """Return the folder of the status files.

    It is in ``$XDG_RUNTIME_DIR`` if this is the absolute path of a folder, else in the folder for temporary files.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.path.isabs(runtime) and os.path.isdir(runtime):
        return Path(runtime) / "pyrs"
    user = os.getuid() if hasattr(os, "getuid") else "user"
    return Path(tempfile.gettempdir()) / f"pyrs-{user}"


def checked_folder(folder: Path) -> Path:
    """Return the folder if it is private to this user.

    The folder must belong to this user, and no other user may be able to access it.

    Raises:
        FileNotFoundError: The folder does not exist.
        PermissionError: The path is not a folder, or belongs to another user, or is accessible to other users.
    """
    found = os.lstat(folder)
    ours = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not stat.S_IMODE(found.st_mode) & 0o077)
    if not stat.S_ISDIR(found.st_mode) or not ours:
        raise PermissionError(
            f"{folder} must be a folder of this user with mode 0700: remove it, or set XDG_RUNTIME_DIR to such a folder"
        )
    return folder


class StatusServer:
    """Answers requests on a loopback port until it is closed.

    At most eight connections are open at a time, each with a thread; another one closes the oldest. A request of more
    than 8 KiB, or one that is not complete after 5 seconds, is not answered.

    Args:
        name: the name of the bridge.
        status: returns the object to send as JSON.

    Attributes:
        file: the path of the file with the port and the token.
        port: the port.

    Raises:
        PermissionError: See ``checked_folder``.
    """

    def __init__(self, name: str, status: Callable[[], dict[str, Any]]) -> None:
        self._status = status
        self._token = secrets.token_hex(32)
        self._pid = os.getpid()
        self._closed = Event()
        self._slots = BoundedSemaphore(_MAX_CONNECTIONS)
        self._open: dict[socket.socket, None] = {}
        folder = status_folder()
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        self.file = checked_folder(folder) / f"{self._pid}-{next(_numbers)}.json"
        self._listener = socket.create_server((_HOST, 0), backlog=_MAX_CONNECTIONS)
        self.port: int = self._listener.getsockname()[1]
        try:
            self._write(name)
        except BaseException:
            self._listener.close()
            raise
        atexit.register(self.close)
        Thread(target=self._listen, name="pyrs-status", daemon=True).start()

    def _write(self, name: str) -> None:
        """Write the file under another name first, so that no reader finds a part of it."""
        text = json.dumps({"pid": self._pid, "port": self.port, "token": self._token, "name": name[:256]})
        partial = self.file.with_suffix(".partial")
        with suppress(FileNotFoundError):  # the file of a killed process with the same id
            partial.unlink()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(partial, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        partial.replace(self.file)

    def close(self) -> None:
        """Remove the file, and close the port and the connections, once."""
        if self._closed.is_set() or os.getpid() != self._pid:  # a forked process must not remove its parent's file
            return
        self._closed.set()
        atexit.unregister(self.close)
        with suppress(OSError):
            self.file.unlink()
        for each in (self._listener, *list(self._open)):
            _shut(each)
        self._listener.close()

    def _listen(self) -> None:
        while not self._closed.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed, or out of file descriptors
                self._closed.wait(_PAUSE_SECONDS)
                continue
            seconds = 0.0
            while not self._slots.acquire(timeout=seconds) and not self._closed.is_set():
                for oldest in list(self._open)[:1]:
                    _shut(oldest)
                seconds = _PAUSE_SECONDS
            if self._closed.is_set():
                connection.close()
                return
            self._open[connection] = None
            try:
                Thread(target=self._serve, args=(connection,), name="pyrs-status-request", daemon=True).start()
            except RuntimeError:  # no further thread can be started
                self._release(connection)

    def _serve(self, connection: socket.socket) -> None:
        try:
            request = _request(connection)
            if request is not None and not self._closed.is_set():
                connection.settimeout(_REQUEST_SECONDS)
                _StatusHandler(request, connection, self._token, self._status)
        except OSError:
            pass  # the client closed the connection, or ``_listen`` closed it because there were too many
        finally:
            self._release(connection)

    def _release(self, connection: socket.socket) -> None:
        self._open.pop(connection, None)
        _shut(connection)
        connection.close()
        self._slots.release()


class _StatusHandler(BaseHTTPRequestHandler):
    """Answers one request that was read already."""

    server_version = "pyrs"
    sys_version = ""

    def __init__(
        self, request: bytes, connection: socket.socket, token: str, status: Callable[[], dict[str, Any]]
    ) -> None:
        # The __init__ of the base class would read from the socket without a limit for the whole request.
        self._token = token
        self._status = status
        self.client_address = (_HOST, 0)
        self.rfile = BytesIO(request)
        self.wfile = connection.makefile("wb")
        with self.wfile:
            self.handle_one_request()

    def do_GET(self) -> None:
        """Send the status."""
        given = self.headers.get("Authorization", "").encode("utf-8", "replace")
        if not hmac.compare_digest(given, f"Bearer {self._token}".encode()):
            self._answer(401, {"error": "the token of the status file is missing"})
        elif self.path != PATH:
            self._answer(404, {"error": f"the only path is {PATH}"})
        else:
            try:
                status = self._status()
            except Exception:
                _log.exception("the status of the bridge could not be read")
                self._answer(500, {"error": "the status could not be read: the log of the process has the reason"})
            else:
                self._answer(200, status)

    def _answer(self, code: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: a request may contain the token."""


def _request(connection: socket.socket) -> bytes | None:
    """Read a request to its empty line; None if it is too long, late or incomplete."""
    data = bytearray()
    deadline = monotonic() + _REQUEST_SECONDS
    while b"\r\n\r\n" not in data:
        left = deadline - monotonic()
        if left <= 0 or len(data) > _MAX_REQUEST:
            return None
        connection.settimeout(left)
        part = connection.recv(_MAX_REQUEST)
        if not part:
            return None
        data += part
    return bytes(data) if len(data) <= _MAX_REQUEST else None


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
