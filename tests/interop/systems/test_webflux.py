"""Spring WebFlux on Reactor Netty: server-sent events from Python, and WebClient responses in Python."""

from __future__ import annotations

import http.client
import itertools
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any

import pytest

import pyrs
from pyrs.errors import JavaError
from pyrs.jvm import Bridge
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, Watched
from tests.interop.systems.system import System
from tests.serving import serving

SYSTEM = System(
    name="Spring WebFlux",
    packages=(
        "org.springframework:spring-webflux:7.0.10",
        "org.springframework:spring-context:7.0.10",
        "io.projectreactor.netty:reactor-netty-http:1.3.1",
    ),
    component="its server and its WebClient on Reactor Netty; Python's HTTP client and server",
    source="`WebClient`'s body: text, server-sent events, bytes",
    sink="a response (`ServerResponse.body`), a request (`WebClient.body`): `str`, `bytes`",
    ordering="kept",
    delivery="at most once: data in flight are lost with the connection",
    cancel="the connection is closed; a client that disconnects cancels the Python Publisher",
    gateways=("jpype", "spark"),
)

EVENT = "x" * 65_536
MANY = 512
"""Events of 64 KiB: 32 MiB in total, more than all buffers between client and server hold."""
BUFFERED = MANY // 2
LONG = 5 * DEADLINE
"""The deadline in seconds for the transfer of all events."""

Serve = Callable[[Callable[[Any], pyrs.Publisher[str]]], int]


@pytest.fixture
def serve(bridge: Bridge, recipe: ModuleType) -> Iterator[Serve]:
    """Return a function that serves Publishers under /events and returns the port."""
    servers = []

    def start(publisher_for: Callable[[Any], pyrs.Publisher[str]]) -> int:
        servers.append(recipe.serve(bridge, "/events", publisher_for))
        port: int = servers[-1].port()
        return port

    yield start
    for server in servers:
        server.disposeNow(bridge.java_class("java.time.Duration").ofSeconds(int(DEADLINE)))


def connected(port: int, path: str = "/events") -> http.client.HTTPResponse:
    """Return a response whose body is unread; closing it closes the connection."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
    client.connect()
    client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    try:
        client.request("GET", path, headers={"Connection": "close"})
        return client.getresponse()
    except BaseException:
        client.close()
        raise


def events_in(body: bytes) -> list[str]:
    return [event.removeprefix("data:") for event in body.decode().split("\n\n")[:-1]]


class TestServerSentEvents:
    def test_program_on_the_page_runs(self, program: ModuleType) -> None:
        assert program.ticks_over_http(3) == ["0", "1", "2"]

    def test_python_client_receives_the_events(self, serve: Serve) -> None:
        port = serve(lambda request: pyrs.range(int(request.queryParam("count").orElse("3"))).map(str))
        with connected(port, "/events?count=1000") as response:
            assert response.status == 200
            assert response.headers["Content-Type"].startswith("text/event-stream")
            assert events_in(response.read()) == [str(number) for number in range(1000)]
        with connected(port) as response:
            assert events_in(response.read()) == ["0", "1", "2"], "each request must get a new Publisher"

    def test_client_that_does_not_read_stops_the_publisher(self, serve: Serve) -> None:
        sources: list[Watched] = []

        def create_source(request: Any) -> Watched:
            sources.append(Watched(lambda: itertools.repeat(EVENT, MANY)))
            return sources[-1]

        port = serve(create_source)
        with connected(port) as idle:
            with connected(port) as reading:
                assert len(events_in(reading.read())) == MANY
            # The other client has received all events by now.
            assert sources[0].emitted <= BUFFERED
            assert sources[0].requested <= BUFFERED
            assert len(events_in(idle.read())) == MANY, "events were lost while the client waited"

    def test_client_disconnect_cancels_the_publisher(self, serve: Serve) -> None:
        source = Watched(lambda: itertools.repeat(EVENT))
        with connected(serve(lambda request: source)) as response:
            assert response.read(5) == b"data:"
            assert not source.cancelled.is_set()
        assert source.cancelled.wait(DEADLINE)

    def test_publisher_error_reaches_the_client(self, serve: Serve) -> None:
        port = serve(lambda request: Watched(lambda: iter(["a", "b"]), LookupError("no third")))
        with connected(port) as response, pytest.raises((http.client.IncompleteRead, ConnectionError)):
            assert response.status == 200
            response.read()

    def test_error_before_the_first_element_is_answered_with_status_500(self, serve: Serve) -> None:
        with connected(serve(lambda request: pyrs.error(LookupError("no first")))) as response:
            assert response.status == 500

    def test_exception_of_the_function_is_answered_with_status_500(self, serve: Serve) -> None:
        def fails(request: Any) -> pyrs.Publisher[str]:
            raise LookupError("no such stream")

        with connected(serve(fails)) as response:
            assert response.status == 500


class TestWebClient:
    def test_events_arrive_in_order(self, bridge: Bridge, serve: Serve, recipe: ModuleType) -> None:
        url = f"http://127.0.0.1:{serve(lambda request: pyrs.range(1000).map(str))}/events"
        assert recipe.events(bridge, url).collect(timeout=DEADLINE) == [str(number) for number in range(1000)]
        assert len(events_in(b"".join(recipe.body(bridge, url).collect(timeout=DEADLINE)))) == 1000

    def test_request_is_sent_at_subscription(self, bridge: Bridge, serve: Serve, recipe: ModuleType) -> None:
        requested = threading.Event()

        def answer(request: Any) -> pyrs.Publisher[str]:
            requested.set()
            return pyrs.just("first", "second")

        received = TestSubscriber(timeout=DEADLINE)
        recipe.events(bridge, f"http://127.0.0.1:{serve(answer)}/events").subscribe(received)
        assert requested.wait(DEADLINE)
        received.request(2)
        assert received.await_complete() == ["first", "second"]

    def test_pooled_buffers_become_bytes_and_are_released(
        self, bridge: Bridge, serve: Serve, recipe: ModuleType
    ) -> None:
        url = f"http://127.0.0.1:{serve(lambda request: pyrs.range(1000).map(str))}/events"
        seen: list[tuple[Any, bool]] = []
        note = bridge.to_jvm_callable(
            lambda buffer: seen.append((buffer, buffer.isAllocated())), "java.util.function.Consumer"
        )
        buffer = bridge.java_class("org.springframework.core.io.buffer.DataBuffer")
        parts = bridge.from_jvm(recipe.retrieve(bridge, url).bodyToFlux(buffer).doOnNext(note), convert="values")
        assert len(events_in(b"".join(parts.collect(timeout=DEADLINE)))) == 1000
        assert {allocated for _, allocated in seen} == {True}
        assert {buffer.isAllocated() for buffer, _ in seen} == {False}

    def test_demand_and_cancel_cross_the_connection(self, bridge: Bridge, serve: Serve, recipe: ModuleType) -> None:
        """A Python Subscriber receives the events of a Python Publisher over HTTP."""
        idle, read = (Watched(lambda: itertools.repeat(EVENT, MANY)) for _ in range(2))
        slow = f"http://127.0.0.1:{serve(lambda request: idle)}/events"
        fast = f"http://127.0.0.1:{serve(lambda request: read)}/events"
        received = TestSubscriber(3, timeout=DEADLINE)
        recipe.events(bridge, slow).subscribe(received)
        received.await_count(3)
        assert len(recipe.events(bridge, fast).collect(timeout=LONG)) == MANY
        assert idle.emitted <= BUFFERED
        assert len(received.elements) == 3
        assert not idle.cancelled.is_set()
        received.cancel()
        assert idle.cancelled.wait(DEADLINE)

    def test_error_status_fails_the_stream(self, bridge: Bridge, serve: Serve, recipe: ModuleType) -> None:
        received = TestSubscriber(1, timeout=DEADLINE)
        port = serve(lambda request: pyrs.empty())
        recipe.events(bridge, f"http://127.0.0.1:{port}/none").subscribe(received)
        error = received.await_error(JavaError)
        assert error.java_class.endswith("WebClientResponseException$NotFound")
        assert "404 Not Found from GET" in str(error)

    def test_unreachable_server_fails_the_stream(self, bridge: Bridge, recipe: ModuleType) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            received = TestSubscriber(1, timeout=DEADLINE)
            recipe.events(bridge, f"http://127.0.0.1:{taken.getsockname()[1]}/").subscribe(received)
            assert "Connection refused" in str(received.await_error())

    def test_broken_connection_fails_the_stream_after_the_received_events(
        self, bridge: Bridge, serve: Serve, recipe: ModuleType
    ) -> None:
        port = serve(lambda request: Watched(lambda: iter(["a", "b"]), LookupError("no third")))
        received = TestSubscriber(10, timeout=DEADLINE)
        recipe.events(bridge, f"http://127.0.0.1:{port}/events").subscribe(received)
        assert "prematurely closed" in str(received.await_error())
        assert received.elements == ["a", "b"]


class TestRequestBody:
    def test_bytes_arrive_unchanged(self, bridge: Bridge, counter: Counter, recipe: ModuleType) -> None:
        counter.resume.set()
        chunks = pyrs.range(MANY).map(lambda number: EVENT.encode())
        assert recipe.post(bridge, counter.url, chunks, timeout_seconds=LONG) == str(MANY * len(EVENT))

    def test_server_that_does_not_read_stops_the_publisher(
        self, bridge: Bridge, counter: Counter, serve: Serve, recipe: ModuleType
    ) -> None:
        source = Watched(lambda: itertools.repeat(EVENT.encode(), MANY))
        answers: list[str] = []

        def post() -> None:
            answers.append(recipe.post(bridge, counter.url, source, timeout_seconds=LONG))

        posting = threading.Thread(target=post)
        posting.start()
        assert counter.begun.wait(DEADLINE)
        other = Watched(lambda: itertools.repeat(EVENT, MANY))
        with connected(serve(lambda request: other)) as reading:
            assert len(events_in(reading.read())) == MANY
        assert 0 < source.emitted <= BUFFERED
        counter.resume.set()
        posting.join(LONG)
        assert answers == [str(MANY * len(EVENT))]

    def test_server_disconnect_cancels_the_publisher(
        self, bridge: Bridge, counter: Counter, recipe: ModuleType
    ) -> None:
        counter.disconnects = True
        counter.resume.set()
        source = Watched(lambda: itertools.repeat(EVENT.encode()))
        with pytest.raises(JavaError, match="WebClientRequestException"):
            recipe.post(bridge, counter.url, source)
        assert source.cancelled.wait(DEADLINE)


class Counter(ThreadingHTTPServer):
    """A Python HTTP server that reads a request body after ``resume`` is set, and answers with its size."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), CounterHandler)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"
        self.begun = threading.Event()
        self.resume = threading.Event()
        self.disconnects = False


class CounterHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Counter

    def do_POST(self) -> None:
        self.close_connection = True
        self.server.begun.set()
        if not self.server.resume.wait(LONG) or self.server.disconnects:
            return
        total = 0
        while size := int(self.rfile.readline(), 16):
            total += len(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        answer = str(total).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def counter() -> Iterator[Counter]:
    with serving(Counter()) as server:
        yield server
        server.resume.set()
