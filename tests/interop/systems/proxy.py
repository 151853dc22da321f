"""A TCP proxy that counts bytes, to observe clients and servers that hide their buffers."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tests.interop.harness import DEADLINE

STALL_SECONDS = 0.5


class TcpProxy:
    """Forwards connections to a port of this machine.

    Attributes:
        port: the port of the proxy.
        downstream: the bytes forwarded from the server to clients, over all connections.
        upstream: the bytes forwarded from clients to the server.
        stalled: set when one side has accepted no pending byte for ``STALL_SECONDS``, which is back pressure.
        client_gone: set when a client closes or resets a connection before the server does.
    """

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self._forwarders: list[threading.Thread] = []
        self.port: int = self._listener.getsockname()[1]
        self._counting = threading.Lock()
        self.downstream = 0
        self.upstream = 0
        self.stalled = threading.Event()
        self.client_gone = threading.Event()
        self._accepting = self._start(self._accept)

    def _start(self, target: Callable[..., None], *arguments: object) -> threading.Thread:
        thread = threading.Thread(target=target, args=arguments, name="pyrs-test-proxy", daemon=True)
        thread.start()
        return thread

    def _accept(self) -> None:
        with suppress(OSError):  # the listener is closed
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self._server_port), DEADLINE)
                except OSError:  # the client sees a closed connection
                    client.close()
                    continue
                self._connect(client, server)

    def _connect(self, client: socket.socket, server: socket.socket) -> None:
        for end in (client, server):
            # Small buffers keep the bytes in flight few, compared with the transfers of the tests.
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            end.settimeout(None)
            self._sockets.append(end)
        closed = threading.Event()
        self._forwarders.append(self._start(self._forward, client, server, "upstream", closed))
        self._forwarders.append(self._start(self._forward, server, client, "downstream", closed))

    def _forward(self, source: socket.socket, target: socket.socket, way: str, closed: threading.Event) -> None:
        target_accepts = True
        while target_accepts and (part := _received(source)):
            target_accepts = self._sent(target, part, way)
        if target_accepts == (way == "upstream") and not closed.is_set():  # the client closed the connection first
            self.client_gone.set()
        closed.set()
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _sent(self, target: socket.socket, part: bytes, way: str) -> bool:
        """Return whether the target accepted all bytes."""
        writable = select.poll()
        writable.register(target, select.POLLOUT)
        with suppress(OSError):  # the target closed the connection
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
        """Close every connection."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes accept(), which close() alone does not
        self._accepting.join(DEADLINE)
        self._listener.close()
        for end in self._sockets:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)  # wakes recv() and poll()
        for thread in self._forwarders:
            thread.join(DEADLINE)
        for end in self._sockets:
            end.close()


def _received(source: socket.socket) -> bytes:
    """Return the next bytes; none at the end of the stream or after a reset."""
    try:
        return source.recv(1 << 14)
    except OSError:
        return b""


@contextmanager
def proxy_to(server_port: int) -> Iterator[TcpProxy]:
    """Run a proxy to a port of this machine."""
    proxy = TcpProxy(server_port)
    try:
        yield proxy
    finally:
        proxy.close()
