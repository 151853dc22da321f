"""Play with its embedded HTTP server: request bodies and response bodies."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import re
import socket
import threading
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future
from types import ModuleType
from typing import Any

import pytest

import pyrs
from pyrs.errors import JavaError
from pyrs.jvm import Bridge, JavaObject
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, Watched
from tests.interop.systems.system import System

SYSTEM = System(
    name="Play",
    packages=("org.playframework:play-pekko-http-server_2.13:3.0.9", "org.playframework:play-java_2.13:3.0.9"),
    component="its Pekko HTTP server, embedded",
    source="a request body, by `Accumulator.source()`: `ByteString` as bytes",
    sink="`Results.ok().chunked`: bytes",
    ordering="kept",
    delivery="each byte once, or an error; a request body that is truncated after the response has begun may complete",
    cancel="stops reading the request's body",
    gateways=("jpype", "spark"),
)

CHUNK = bytes(64 << 10)
MEGABYTE = 1 << 20
BUFFERED = 32 * MEGABYTE
"""The buffers between Python and a client (windows, Pekko, sockets) hold fewer bytes."""
SUBSCRIPTION_TIMEOUT = "pekko.stream.materializer.subscription-timeout.timeout"
BIND_TIMEOUT = "play.server.pekko.bindTimeout"


class Handler:
    """Handles requests with the function that the current test has set."""

    def __init__(self) -> None:
        self.function: Any = None

    def __call__(self, request: JavaObject, body: pyrs.Stream[bytes]) -> pyrs.Publisher[bytes]:
        response: pyrs.Publisher[bytes] = self.function(request, body)
        return response


@pytest.fixture(scope="module")
def handler() -> Handler:
    return Handler()


@contextlib.contextmanager
def property_of_the_jvm(bridge: Bridge, name: str, value: str | None) -> Iterator[None]:
    """Set a system property for servers that start in the block; None removes it."""
    properties = bridge.java_class("java.lang.System").getProperties()
    settings = bridge.java_class("com.typesafe.config.ConfigFactory")
    before = properties.remove(name) if value is None else properties.setProperty(name, value)
    settings.invalidateCaches()  # the configuration caches the properties
    try:
        yield
    finally:
        if before is None:
            properties.remove(name)
        else:
            properties.setProperty(name, before)
        settings.invalidateCaches()


@pytest.fixture(scope="module")
def long_timeouts(connected: tuple[Bridge, Any]) -> Iterator[None]:
    """Give the servers long timeouts, for slow machines."""
    bridge = connected[0]
    with (
        property_of_the_jvm(bridge, SUBSCRIPTION_TIMEOUT, "60s"),
        property_of_the_jvm(bridge, BIND_TIMEOUT, "60s"),
    ):
        yield


@pytest.fixture(scope="module")
def port(connected: tuple[Bridge, Any], recipe: ModuleType, handler: Handler, long_timeouts: None) -> Iterator[int]:
    server = recipe.start(connected[0], handler)
    yield server.httpPort().get()
    server.stop()


@pytest.fixture
def client(port: int) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
    yield connection
    connection.close()


def upload(port: int) -> socket.socket:
    """Send the head of a request and return the connection."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE)
    connection.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000000\r\n\r\n")
    return connection


class Body(threading.Thread):
    """Sends a body until ``BUFFERED`` bytes are sent or the connection is closed."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(name="body", daemon=True)
        self.sent = 0
        self._connection = connection
        self.start()

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while self.sent < BUFFERED:
                self.sent += self._connection.send(CHUNK)

    def wait_until_idle(self) -> None:
        """Wait until no byte was sent for a second."""
        before = -1
        while before < self.sent:
            before = self.sent
            self.join(1.0)


def until_closed(connection: socket.socket) -> bytes:
    received = b""
    try:
        while part := connection.recv(len(CHUNK)):
            received += part
    except ConnectionResetError:
        pass
    return received


class TestPythonIntoAResponse:
    @pytest.mark.usefixtures("long_timeouts")
    def test_program_on_the_page_runs(self, program: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        printed: list[str] = []
        answered: list[bytes] = []

        def enter(prompt: str) -> None:
            [address] = re.findall(r"http://\S+", printed[-1])
            with urllib.request.urlopen(address, b"to be", timeout=DEADLINE) as response:
                answered.append(response.read())

        monkeypatch.setattr(program, "print", printed.append, raising=False)
        monkeypatch.setattr(program, "input", enter, raising=False)
        program.main()
        assert answered == [b"TO BE"]

    def test_elements_arrive_in_order(self, client: http.client.HTTPConnection, handler: Handler) -> None:
        lines = [f"line {number}\n".encode() for number in range(10_000)]
        handler.function = lambda request, body: pyrs.from_iterable(lines)
        client.request("GET", "/lines")
        response = client.getresponse()
        assert (response.status, response.getheader("Transfer-Encoding")) == (200, "chunked")
        assert response.read() == b"".join(lines)

    def test_each_element_is_a_chunk(self, port: int, handler: Handler) -> None:
        handler.function = lambda request, body: pyrs.just(b"one", b"two and more")
        with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            head, _, body = until_closed(connection).partition(b"\r\n\r\n")
        assert b" 200 " in head
        assert body == b"3\r\none\r\nc\r\ntwo and more\r\n0\r\n\r\n"

    def test_demand_is_bounded_and_cancel_is_forwarded(
        self, client: http.client.HTTPConnection, handler: Handler
    ) -> None:
        source = Watched(lambda: itertools.repeat(CHUNK))
        handler.function = lambda request, body: source
        client.request("GET", "/endless")
        response = client.getresponse()
        assert len(response.read(len(CHUNK))) == len(CHUNK)
        assert not source.cancelled.wait(1.0), "the Publisher was cancelled although the client is connected"
        assert source.emitted * len(CHUNK) < BUFFERED
        response.close()
        client.close()
        assert source.cancelled.wait(DEADLINE)
        assert source.emitted * len(CHUNK) < BUFFERED

    def test_error_is_forwarded(self, client: http.client.HTTPConnection, handler: Handler) -> None:
        handler.function = lambda request, body: Watched(lambda: iter([b"one", b"two"]), LookupError("no third"))
        client.request("GET", "/broken")
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            client.getresponse().read()

    def test_error_before_the_first_element_is_status_500(
        self, client: http.client.HTTPConnection, handler: Handler
    ) -> None:
        handler.function = lambda request, body: pyrs.error(LookupError("nothing at all"))
        client.request("GET", "/broken")
        assert client.getresponse().status == 500


class TestARequestIntoPython:
    def test_python_stage_between_request_and_response(
        self, client: http.client.HTTPConnection, handler: Handler
    ) -> None:
        handler.function = lambda request, body: body.map(bytes.upper)
        client.request("POST", "/shout", body=iter([b"to be ", b"or not ", b"to be"]), encode_chunked=True)
        assert client.getresponse().read() == b"TO BE OR NOT TO BE"

    def test_demand_is_bounded_and_cancel_is_forwarded(self, port: int, handler: Handler) -> None:
        received = TestSubscriber(1, timeout=DEADLINE)
        result: Future[bytes] = Future()

        def answer(request: JavaObject, body: pyrs.Stream[bytes]) -> pyrs.Publisher[bytes]:
            body.subscribe(received)
            return pyrs.from_future(result)

        handler.function = answer
        with upload(port) as connection:
            body = Body(connection)
            body.wait_until_idle()
            assert body.sent < BUFFERED, "the server received bytes without demand"
            assert len(received.await_count(1)) == 1
            received.request(10)
            received.await_count(11)
            received.cancel()
            result.set_result(b"that is enough")
            until_closed(connection)  # Play stops reading; the reset may lose the response, as the page says
        assert len(received.elements) == 11
        assert not received.ended

    def test_body_without_subscriber_is_discarded(
        self, bridge: Bridge, recipe: ModuleType, long_timeouts: None
    ) -> None:
        bodies: Future[pyrs.Stream[bytes]] = Future()

        def answer(request: JavaObject, body: pyrs.Stream[bytes]) -> pyrs.Publisher[bytes]:
            bodies.set_result(body)
            return pyrs.never()

        with property_of_the_jvm(bridge, SUBSCRIPTION_TIMEOUT, None):
            server = recipe.start(bridge, answer)
        try:
            with upload(server.httpPort().get()) as connection:
                body = bodies.result(DEADLINE)
                with pytest.raises(OSError, match=r"reset|Broken pipe"):
                    while True:
                        connection.sendall(CHUNK)
            received = TestSubscriber(1, timeout=DEADLINE)
            body.subscribe(received)
            assert "only supports one subscriber" in str(received.await_error(JavaError))
        finally:
            server.stop()

    def test_error_is_forwarded(self, port: int, handler: Handler) -> None:
        received = TestSubscriber(None, timeout=DEADLINE)

        def answer(request: JavaObject, body: pyrs.Stream[bytes]) -> pyrs.Publisher[bytes]:
            shared = body.publish().auto_connect(2)
            shared.subscribe(received)
            return shared.count().map(lambda count: b"%d" % count)

        handler.function = answer
        with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as connection:
            connection.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            connection.sendall(b"3\r\nthe\r\n")
            assert received.await_count(1) == [b"the"]
            connection.sendall(b"no chunk\r\n")
            assert "Illegal character 'n' in chunk start" in str(received.await_error(JavaError))
            assert b" 200 " not in until_closed(connection), "the response started before the error"

    def test_client_disconnect_fails_the_request_body(self, port: int, handler: Handler) -> None:
        received = TestSubscriber(None, timeout=DEADLINE)

        def answer(request: JavaObject, body: pyrs.Stream[bytes]) -> pyrs.Publisher[bytes]:
            body.subscribe(received)
            return pyrs.never()

        handler.function = answer
        with upload(port) as connection:
            connection.sendall(b"the beginning")
            assert received.await_count(1) == [b"the beginning"]
        assert "Entity stream truncation" in str(received.await_error(JavaError))
