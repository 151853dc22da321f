"""The loopback server that answers Spark's planner, with mutual proof of a token."""

from __future__ import annotations

import hmac
import json
import logging
import os
import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock, Thread
from time import sleep
from typing import Any

from pyrs.spark.read.partitions import text_of
from pyrs.spark.sessions import loopback

_log = logging.getLogger("pyrs.spark")

_NONCE = 32
_PROOF_SECONDS = 5.0
_CHECK_SECONDS = 1.0
_PAUSE_SECONDS = 0.02
_UNPROVEN = 8
_MAX_REQUEST = 1 << 16
_REQUEST = struct.Struct(">I")
_ANSWER = struct.Struct(">BI")
_PIECE = struct.Struct(">Q")

Answer = Callable[[dict[str, Any], Callable[[], bool]], Sequence[Any]]
"""Called with a request, and a function that returns whether the planner still waits; returns the answer in pieces."""


class Server:
    """Listens on the loopback for planners, and answers the one that connected last.

    A restarted query has a new planner, and the old one may live for some time.

    Args:
        answer: returns the answer to a request; its exception is sent as the answer. Calls do not overlap.
        ahead: called while no request waits; returns whether it did something. Does not overlap with ``answer``.
        alive: called once a second; the server closes when it returns False.
        closed: called when the server has closed.

    Attributes:
        token: the secret that a planner must know.
    """

    def __init__(
        self,
        answer: Answer,
        ahead: Callable[[], bool],
        alive: Callable[[], bool],
        closed: Callable[[], object],
    ) -> None:
        self.token = os.urandom(32)
        self._answer = answer
        self._ahead = ahead
        self._alive = alive
        self._closed = closed
        self._turn = Lock()  # held by the thread that answers a planner
        self._unproven: dict[socket.socket, None] = {}
        self._current: socket.socket | None = None
        self._closing = False
        self.host = loopback()
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self._listener = socket.create_server((self.host, 0), family=family)
        self._listener.settimeout(_CHECK_SECONDS)
        self.port: int = self._listener.getsockname()[1]
        self._thread = Thread(target=self._listen, name="pyrs-spark-source", daemon=True)
        self._thread.start()

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait until no planner is connected; return False if the time is over."""
        idle = self._turn.acquire(timeout=seconds)
        if idle:
            self._turn.release()
        return idle

    def close(self) -> None:
        """Close the server, and wait until no planner is being answered."""
        self._closing = True
        self._thread.join()

    def _listen(self) -> None:
        try:
            while self._alive() and not self._closing:
                try:
                    connection, _ = self._listener.accept()
                except TimeoutError:
                    continue
                except OSError as error:  # such as too many open files; an end here would end every later query
                    _log.warning("read_stream cannot accept a connection of Spark's planner: %s", error)
                    sleep(_CHECK_SECONDS)
                    continue
                # With too many unproven connections the oldest is closed: a planner proves the token at once.
                for each in list(self._unproven)[: 1 - _UNPROVEN]:
                    _shut(each)
                self._unproven[connection] = None
                try:
                    Thread(target=self._serve, args=(connection,), name="pyrs-spark-planner", daemon=True).start()
                except RuntimeError as error:
                    _log.warning("read_stream cannot start a thread for Spark's planner: %s", error)
                    del self._unproven[connection]
                    connection.close()
        finally:
            self._listener.close()
            self._closing = True
            if self._current is not None:
                _shut(self._current)
            with self._turn:
                self._closed()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):  # the planner has closed the connection
            try:
                proven = self._proves(connection)
            finally:
                self._unproven.pop(connection, None)
            if not proven:
                return
            before, self._current = self._current, connection
            if before is not None:
                _shut(before)
            with self._turn:
                while self._is_current(connection) and self._exchange(connection):
                    pass

    def _is_current(self, connection: socket.socket) -> bool:
        return self._current is connection and not self._closing

    def _proves(self, connection: socket.socket) -> bool:
        connection.settimeout(_PROOF_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reader_nonce, nonce = _exactly(connection, _NONCE), os.urandom(_NONCE)
        connection.sendall(nonce + hmac.digest(self.token, b"driver" + reader_nonce + nonce, "sha256"))
        proof = _exactly(connection, _NONCE)
        connection.settimeout(None)
        return hmac.compare_digest(proof, hmac.digest(self.token, b"reader" + reader_nonce + nonce, "sha256"))

    def _exchange(self, connection: socket.socket) -> bool:
        """Answer one request. Returns False if the request is too long."""
        (length,) = _REQUEST.unpack(self._request_header(connection))
        if length > _MAX_REQUEST:
            return False
        request = json.loads(_exactly(connection, length))
        try:
            pieces = list(self._answer(request, lambda: self._is_current(connection) and not _is_gone(connection)))
            failed = 0
        except BaseException as error:  # the error of a publisher may be a CancelledError
            failed, pieces = 1, [text_of(error).encode()]
        connection.sendall(_ANSWER.pack(failed, len(pieces)))
        for piece in pieces:
            connection.sendall(_PIECE.pack(len(piece)))
            connection.sendall(piece)
        return True

    def _request_header(self, connection: socket.socket) -> bytes:
        """Return the length prefix of the next request. Prepares answers until it arrives."""
        more = True
        while True:
            connection.settimeout(0 if more else _PAUSE_SECONDS)
            try:
                first = connection.recv(1)
            except (TimeoutError, BlockingIOError):
                more = self._ahead()
                continue
            connection.settimeout(None)
            if not first:
                raise ConnectionError("closed")
            return first + _exactly(connection, _REQUEST.size - 1)


def _is_gone(connection: socket.socket) -> bool:
    """Return whether the planner has closed the connection.

    The planner sends nothing while it waits for an answer.
    """
    connection.setblocking(False)
    try:
        return not connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        connection.setblocking(True)


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _exactly(connection: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        part = connection.recv(length - len(data))
        if not part:
            raise ConnectionError("closed")
        data += part
    return bytes(data)
