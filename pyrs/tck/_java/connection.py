"""A connection between one Python thread and one thread of the JVM.

While a call waits for its result, its thread executes the calls that arrive. Therefore the official TCK observes the
threads, the nesting and the exceptions of the Python code unchanged.
"""

from __future__ import annotations

import socket
import struct
import threading
from typing import Any, NamedTuple, Protocol

_LONG = struct.Struct(">q")
_LENGTH = struct.Struct(">i")


class ConnectionLost(AssertionError):
    """The JVM does not respond, or the test has ended."""


class Reference(NamedTuple):
    """An object in transit, of Python ("p"; "x" for an exception) or Java ("j")."""

    side: str  # the owner
    number: int  # in the owner's table
    kind: str = ""  # of the object that the receiver creates for it
    text: str = ""  # the message of an exception


class Exchange(Protocol):
    """The part of a ``Scope`` that connections, proxies and hooks use."""

    def call(self, method: str, target: int, *arguments: Any) -> Any: ...

    def execute(self, method: str, target: int, arguments: list[Any]) -> Any: ...

    def outgoing(self, value: object) -> Reference | None: ...

    def incoming(self, value: Any) -> Any: ...

    def raised(self, error: BaseException) -> Reference | None: ...

    def watch(self, subscription: object) -> None: ...


class TckConnection:
    """Sends calls to one thread of the JVM, or executes the calls of such a thread."""

    def __init__(self, scope: Exchange, connected: socket.socket) -> None:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._scope = scope
        self._socket = connected
        self._read_ahead = b""

    def send_token(self, token: bytes) -> None:
        """Authenticate, and send the name of this thread."""
        self._socket.sendall(token + _chars(threading.current_thread().name))

    def receive_token(self, size: int) -> bytes:
        """Return the token of the other side."""
        return self._exactly(size)

    def __del__(self) -> None:
        self.close()  # the thread of this connection has ended, so the thread in the JVM must end

    def close(self) -> None:
        """Close the socket, which wakes a thread that waits for a result."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()

    def call(self, method: str, target: int, *arguments: Any) -> Any:
        """Call a Java method; return its result or raise its exception."""
        try:
            self._socket.sendall(_call(method, target, arguments))
            while (kind := self._exactly(1)) == b"C":
                self._answer()
            value: Any = self._scope.incoming(self._read())
        except OSError as error:
            raise ConnectionLost(f"the JVM does not respond: {error}") from error
        if kind == b"R":
            return value
        thrown: BaseException = value
        try:
            raise thrown
        finally:
            del value, thrown  # the exception references this frame, so the frame must not reference the exception

    def serve(self) -> None:
        """Execute calls until the other side closes the connection."""
        try:
            while self._exactly(1) == b"C":
                self._answer()
        except OSError:
            pass  # the thread in the JVM or the test has ended
        finally:
            self.close()

    def _answer(self) -> None:
        # This is a method of its own, because objects in the frame of a waiting thread stay reachable (§3.13).
        method = self._text()
        (target,) = _LONG.unpack(self._exactly(8))
        arguments = [self._scope.incoming(self._read()) for _ in range(self._exactly(1)[0])]
        try:
            answer = b"R" + _value(self._scope.execute(method, target, arguments))
        except BaseException as error:  # the official TCK judges every exception
            answer = b"T" + _value(self._scope.raised(error))
        self._socket.sendall(answer)

    def _read(self) -> Any:
        tag = self._exactly(1)
        if tag == b"n":
            return None
        if tag == b"l":
            return _LONG.unpack(self._exactly(8))[0]
        if tag == b"s":
            return self._text()
        if tag == b"a":
            return [self._scope.incoming(self._read()) for _ in range(self._exactly(1)[0])]
        (number,) = _LONG.unpack(self._exactly(8))
        if tag == b"p":
            return Reference("p", number)
        return Reference("j", number, self._exactly(1).decode(), self._text())

    def _text(self) -> str:
        return self._exactly(_LENGTH.unpack(self._exactly(4))[0]).decode()

    def _exactly(self, size: int) -> bytes:
        while len(self._read_ahead) < size:
            more = self._socket.recv(65_536)
            if not more:
                raise OSError("the connection was closed")
            self._read_ahead += more
        content, self._read_ahead = self._read_ahead[:size], self._read_ahead[size:]
        return content


def _call(method: str, target: int, arguments: tuple[Any, ...]) -> bytes:
    parts = [b"C", _chars(method), _LONG.pack(target), bytes([len(arguments)])]
    return b"".join([*parts, *map(_value, arguments)])


def _value(value: Any) -> bytes:
    if value is None:
        return b"n"
    if isinstance(value, int):
        return b"l" + _LONG.pack(value)
    if isinstance(value, str):
        return b"s" + _chars(value)
    sent: bytes = value.side.encode() + _LONG.pack(value.number)
    return sent + value.kind.encode() + _chars(value.text) if value.side == "x" else sent


def _chars(text: str) -> bytes:
    encoded = text.encode(errors="replace")
    return _LENGTH.pack(len(encoded)) + encoded
