"""A connection between one thread here and one in the JVM.

A call waits for its answer and meanwhile carries out the calls that come: a stack that goes to and fro is one stack on
each side. So the Java kit sees the threads, the nesting and the exceptions of the Python code as they are.
"""

from __future__ import annotations

import socket
import struct
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyrs.tck._java.scope import Scope

__all__ = ["Line", "LineLost", "Reference"]

_LONG = struct.Struct(">q")
_LENGTH = struct.Struct(">i")


class LineLost(AssertionError):
    """The JVM does not answer any more."""


class Reference(NamedTuple):
    """An object, as it is sent: one of Python's ("p", or "x" for an exception) or of Java's ("j").

    Attributes:
        side: whose it is.
        number: which, in its owner's table.
        kind: what the other side makes of it.
        text: an exception's text.
    """

    side: str
    number: int
    kind: str = ""
    text: str = ""


class Line:
    """See the module.

    Args:
        scope: the test that it belongs to.
        connection: whose other end is a thread that serves, or is served.
    """

    def __init__(self, scope: Scope, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._scope = scope
        self._connection = connection
        self._read_ahead = b""

    def introduce(self, token: bytes) -> None:
        """Show what lets us in, and say which thread this is."""
        self._connection.sendall(token + _chars(threading.current_thread().name))

    def shown(self, size: int) -> bytes:
        """Return what the other side shows to be let in."""
        return self._exactly(size)

    def __del__(self) -> None:
        self.close()  # its thread has ended: the one in the JVM ends, too

    def close(self) -> None:
        """End it; a thread that waits here wakes."""
        try:
            self._connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._connection.close()

    def call(self, method: str, target: int, *arguments: Any) -> Any:
        """Call Java: returns what it returns, raises what it throws.

        Raises:
            LineLost: there is no JVM any more, or the test is over.
        """
        try:
            self._connection.sendall(_call(method, target, arguments))
            while (kind := self._exactly(1)) == b"C":
                self._answer()
            value: Any = self._scope.incoming(self._read())
        except OSError as error:
            raise LineLost(f"the JVM does not answer: {error}") from error
        if kind == b"R":
            return value
        thrown: BaseException = value
        try:
            raise thrown
        finally:
            del value, thrown  # an exception holds this frame, and the frame must not hold the exception

    def serve(self) -> None:
        """Carry out calls until the other side has gone."""
        try:
            while self._exactly(1) == b"C":
                self._answer()
        except OSError:
            pass  # its thread in the JVM has ended, or the test
        finally:
            self.close()

    def _answer(self) -> None:
        # In a frame of its own: what a waiting thread's frame holds is not let go (3.13).
        method = self._text()
        (target,) = _LONG.unpack(self._exactly(8))
        arguments = [self._scope.incoming(self._read()) for _ in range(self._exactly(1)[0])]
        try:
            answer = b"R" + _value(self._scope.execute(method, target, arguments))
        except BaseException as error:  # whatever it is, it is the kit's to judge
            answer = b"T" + _value(self._scope.raised(error))
        self._connection.sendall(answer)

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
            more = self._connection.recv(65_536)
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
