"""A test double of the JVM's side: it accepts one link and runs a session on it."""

from __future__ import annotations

import secrets
import socket
import struct
import threading
from contextlib import suppress

from plain_session import PlainCodec

from pyrs._core.executor import DaemonExecutor
from pyrs.jvm.link.connection import LinkConnection
from pyrs.jvm.link.frames import VERSION, FrameDecoder, FrameType, frame
from pyrs.jvm.link.handshake import proof
from pyrs.jvm.link.session import Session
from tests.waiting import DEADLINE


class Peer:
    """Listens on an ephemeral port; ``connect`` opens a link to it and waits for both sides."""

    def __init__(self, token: bytes | None = None, version: int = VERSION) -> None:
        self.token = token or secrets.token_bytes(32)
        self.version = version
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.socket: socket.socket
        self.session: Session
        self.executor = DaemonExecutor("peer")
        self.ready = threading.Event()
        self.ended = threading.Event()
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._serve, name="peer", daemon=True)
        self.thread.start()

    def connect(self, **options: int) -> LinkConnection:
        connection = LinkConnection(
            self.port,
            self.token,
            lambda session: PlainCodec(),
            max_prefetch=options.pop("max_prefetch", 4_096),
            **options,
        )
        assert self.ready.wait(DEADLINE)
        return connection

    def _serve(self) -> None:
        try:
            self.socket, _ = self.listener.accept()
            self.listener.close()
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            decoder = FrameDecoder()
            nonce = secrets.token_bytes(32)
            self.socket.sendall(frame(FrameType.HELLO, 0, struct.pack(">H", self.version) + nonce))
            hello = self._next(decoder)
            dialler_nonce, claimed = hello.body[2:34], hello.body[34:]
            assert claimed == proof(self.token, b"pyrs 1 dial", nonce, dialler_nonce)
            self.session = Session(
                execute=self.executor.execute,
                post=self.executor.execute,
                send=self.send,
                wake=lambda: self.executor.execute(self.session.outbox.write),
                first_stream=2,
            )
            self.session.codec = PlainCodec()
            self.socket.sendall(frame(FrameType.PROOF, 0, proof(self.token, b"pyrs 1 listen", nonce, dialler_nonce)))
            self.ready.set()
            threading.Thread(target=self._poll, name="peer-writer", daemon=True).start()
            while data := self.socket.recv(1 << 18):
                for message in decoder.feed(data):
                    self.session.receive(message)
        except BaseException as error:
            self.error = error
        finally:
            if self.ready.is_set():
                self.session.lost(self.session.broken("peer"))
            with suppress(AttributeError):
                self.socket.close()
            self.listener.close()
            self.ended.set()

    def _next(self, decoder: FrameDecoder):  # type: ignore[no-untyped-def]
        while True:
            data = self.socket.recv(1024)
            assert data, "closed during the handshake"
            for message in decoder.feed(data):
                return message

    def _poll(self) -> None:
        while not self.ended.wait(0.005):
            self.session.outbox.write_polled()

    def send(self, data: bytes) -> None:
        with suppress(OSError):
            self.socket.sendall(data)

    def kill(self) -> None:
        """Close the socket without GOAWAY, as the operating system does for a killed process."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
