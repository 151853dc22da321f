"""java.net.http.HttpClient with Python Publishers and Subscribers as bodies."""

from __future__ import annotations

import hashlib
import itertools
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import pyrs
from pyrs.errors import JavaError
from pyrs.jvm import Bridge
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, MILLISECONDS, Java, Watched
from tests.serving import serving

CHUNK = bytes(range(256)) * 64  # 16 KiB
LARGE = 1280  # chunks: 20 MiB


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer with the length and the digest of the body; /echo answers with the body, /refuse disconnects."""
        if self.path == "/refuse":
            self.rfile.read(len(CHUNK))
            self.close_connection = True
            return
        body = b"".join(self._chunks())
        answer = body if self.path == "/echo" else f"{len(body)} {hashlib.sha256(body).hexdigest()}".encode()
        self._answer(len(answer))
        self.wfile.write(answer)

    def do_GET(self) -> None:
        """Send the number of chunks in the path; /endless sends until the client disconnects."""
        if self.path == "/endless":
            self._answer(None)
            try:
                while True:
                    self.wfile.write(CHUNK)
            except OSError:
                self.server.client_gone.set()
                self.close_connection = True
            return
        count = int(self.path[1:])
        self._answer(count * len(CHUNK))
        for _ in range(count):
            self.wfile.write(CHUNK)

    def _answer(self, length: int | None) -> None:
        self.send_response(200)
        if length is None:
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def handle(self) -> None:
        try:
            super().handle()
        except (OSError, ValueError):  # the client disconnected in the middle of its body
            self.server.client_gone.set()

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.client_gone = threading.Event()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        connection.settimeout(DEADLINE)
        return connection, address

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(Server()) as server:
        yield server


@pytest.fixture
def http(java: Java) -> Any:
    return java.new("interop.Http")


def digest(chunks: int) -> str:
    return f"{chunks * len(CHUNK)} {hashlib.sha256(CHUNK * chunks).hexdigest()}"


def body_of(bridge: Bridge, publisher: Any) -> Any:
    return bridge.to_jvm(publisher, element_type="java.nio.ByteBuffer")


@pytest.mark.parametrize("chunks", [0, 1, 3, LARGE])
def test_python_publisher_is_sent_as_request_body(
    bridge: Bridge, java: Java, http: Any, server: Server, chunks: int
) -> None:
    source = Watched(lambda: iter([CHUNK] * chunks))
    java.call(http, "post", server.url("/"), body_of(bridge, source))
    assert java.call(http, "text", MILLISECONDS * 2) == digest(chunks)
    assert source.emitted == chunks


@pytest.mark.parametrize("chunks", [0, 1, 3, LARGE])
def test_python_subscriber_receives_the_response_body(
    bridge: Bridge, java: Java, http: Any, server: Server, chunks: int
) -> None:
    received = TestSubscriber(None, timeout=DEADLINE)
    java.call(http, "get", server.url(f"/{chunks}"), bridge.to_jvm(received))
    elements = received.await_complete()
    assert all(type(element) is list and all(type(part) is bytes for part in element) for element in elements)
    assert b"".join(part for element in elements for part in element) == CHUNK * chunks
    assert java.call(http, "status", MILLISECONDS) == 200


def test_response_body_is_a_publisher(bridge: Bridge, java: Java, http: Any, server: Server) -> None:
    body = bridge.from_jvm(java.call(http, "open", server.url("/100")))
    assert b"".join(part for element in body.to_iterable(timeout=DEADLINE) for part in element) == CHUNK * 100


def test_one_exchange_has_a_python_publisher_and_a_python_subscriber(
    bridge: Bridge, java: Java, http: Any, server: Server
) -> None:
    """The server answers after it has read the request body, so the two bodies do not overlap."""
    received = TestSubscriber(None, timeout=DEADLINE)
    body = body_of(bridge, pyrs.from_iterable([CHUNK] * 50))
    java.call(http, "exchange", server.url("/echo"), body, bridge.to_jvm(received))
    assert b"".join(part for element in received.await_complete() for part in element) == CHUNK * 50


def test_error_of_the_publisher_fails_the_request(bridge: Bridge, java: Java, http: Any, server: Server) -> None:
    error = ValueError("no more bytes")
    java.call(http, "post", server.url("/"), body_of(bridge, Watched(lambda: iter([CHUNK]), error)))
    failure = java.call(http, "failure", MILLISECONDS)
    assert "no more bytes" in java.call(failure, "getMessage")
    received = TestSubscriber(1, timeout=DEADLINE)
    bridge.from_jvm(java.static("interop.Sources", "failing", failure)).subscribe(received)
    assert received.await_error() is error


def test_element_that_is_not_a_buffer_fails_the_request(bridge: Bridge, java: Java, http: Any, server: Server) -> None:
    source = Watched(lambda: itertools.chain([CHUNK, 5], itertools.repeat(CHUNK)))
    java.call(http, "post", server.url("/"), body_of(bridge, source))
    message = java.call(java.call(http, "failure", MILLISECONDS), "getMessage")
    assert "a Python int does not fit java.nio.ByteBuffer" in message
    assert source.cancelled.wait(DEADLINE)


def test_cancel_closes_an_endless_response(bridge: Bridge, java: Java, http: Any, server: Server) -> None:
    received = TestSubscriber(3, timeout=DEADLINE)
    java.call(http, "get", server.url("/endless"), bridge.to_jvm(received))
    received.await_count(3)
    received.cancel()
    assert server.client_gone.wait(DEADLINE)
    assert len(received.elements) == 3


def test_server_disconnect_cancels_the_publisher(bridge: Bridge, java: Java, http: Any, server: Server) -> None:
    source = Watched(lambda: itertools.repeat(CHUNK))
    java.call(http, "post", server.url("/refuse"), body_of(bridge, source))
    assert java.call(http, "failure", MILLISECONDS) is not None
    assert source.cancelled.wait(DEADLINE)


def test_requests_of_one_element_receive_the_whole_response(
    bridge: Bridge, java: Java, http: Any, server: Server
) -> None:
    received = TestSubscriber(1, timeout=DEADLINE, on_element=lambda subscriber, _: subscriber.request(1))
    java.call(http, "get", server.url("/100"), bridge.to_jvm(received))
    assert sum(len(part) for element in received.await_complete() for part in element) == 100 * len(CHUNK)


def test_unreachable_server_fails_with_the_java_exception(bridge: Bridge, java: Java, http: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening, so connections are refused
        source = Watched(lambda: iter([CHUNK]))
        java.call(http, "post", f"http://127.0.0.1:{taken.getsockname()[1]}/", body_of(bridge, source))
        failure = java.call(http, "failure", MILLISECONDS)
    received = TestSubscriber(1, timeout=DEADLINE)
    bridge.from_jvm(java.static("interop.Sources", "failing", failure)).subscribe(received)
    error = received.await_error(JavaError)
    assert error.java_class in ("java.net.ConnectException", "java.nio.channels.ClosedChannelException")
