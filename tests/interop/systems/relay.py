"""A TCP relay that counts: what a test sees of a client that keeps its buffers to itself."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tests.interop.harness import DEADLINE

STALL_SECONDS = 0.5


class Relay:
    """Passes connections on to a port of this machine.

    Attributes:
        port: where to connect.
        downstream: bytes that came from the server and were passed on, of all connections.
        upstream: bytes that came from clients and were passed on.
        stalled: set when one end has taken nothing of what was there for it for `STALL_SECONDS`: back pressure.
        client_gone: set when a client has closed or reset a connection that the server still had open.
    """

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self._passing: list[threading.Thread] = []
        self.port: int = self._listener.getsockname()[1]
        self._counting = threading.Lock()
        self.downstream = 0
        self.upstream = 0
        self.stalled = threading.Event()
        self.client_gone = threading.Event()
        self._accepting = self._start(self._accept)

    def _start(self, target: Callable[..., None], *arguments: object) -> threading.Thread:
        thread = threading.Thread(target=target, args=arguments, name="pyrs-test-relay", daemon=True)
        thread.start()
        return thread

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self._server_port), DEADLINE)
                except OSError:  # as the client will see
                    client.close()
                    continue
                self._join(client, server)

    def _join(self, client: socket.socket, server: socket.socket) -> None:
        for end in (client, server):
            # Small buffers: what is on the way shall be little beside what a test transfers.
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            end.settimeout(None)
            self._sockets.append(end)
        over = threading.Event()
        self._passing.append(self._start(self._pass_on, client, server, "upstream", over))
        self._passing.append(self._start(self._pass_on, server, client, "downstream", over))

    def _pass_on(self, source: socket.socket, target: socket.socket, way: str, over: threading.Event) -> None:
        by_source = True
        while by_source and (part := _received(source)):
            by_source = self._given(target, part, way)
        if by_source == (way == "upstream") and not over.is_set():  # the client has ended it, and nobody before
            self.client_gone.set()
        over.set()
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _given(self, target: socket.socket, part: bytes, way: str) -> bool:
        """Whether the target has taken it all."""
        writable = select.poll()
        writable.register(target, select.POLLOUT)
        with suppress(OSError):  # it has ended
            while part:
                if not writable.poll(1000 * STALL_SECONDS):
                    self.stalled.set()
                    continue
                sent = target.send(part)
                with self._counting:
                    setattr(self, way, getattr(self, way) + sent)
                part = part[sent:]
        return not part

    def close(self) -> None:
        """Ends every connection."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # ends an accept, which close() alone would leave waiting
        self._accepting.join(DEADLINE)
        self._listener.close()
        for end in self._sockets:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)  # ends a recv or a poll, likewise
        for thread in self._passing:
            thread.join(DEADLINE)
        for end in self._sockets:
            end.close()


def _received(source: socket.socket) -> bytes:
    """What came next; nothing where that was the end, or a reset."""
    try:
        return source.recv(1 << 14)
    except OSError:
        return b""


@contextmanager
def relay_to(server_port: int) -> Iterator[Relay]:
    """A relay for the time of a test."""
    relay = Relay(server_port)
    try:
        yield relay
    finally:
        relay.close()
