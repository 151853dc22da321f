"""RSocket: rsocket-java through the bridge as client and as server, with rsocket-py as the peer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from types import ModuleType
from typing import Any

import pytest
from rsocket.helpers import single_transport_provider
from rsocket.payload import Payload
from rsocket.request_handler import BaseRequestHandler
from rsocket.rsocket_client import RSocketClient
from rsocket.rsocket_server import RSocketServer
from rsocket.transports.tcp import TransportTCP

import pyrs
from pyrs.adapters.rsocket import Receiver, from_rsocket, to_rsocket
from pyrs.aio import background_loop
from pyrs.errors import JavaError
from pyrs.jvm import Bridge, JavaObject
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, Watched
from tests.interop.systems.system import System

SYSTEM = System(
    name="RSocket",
    packages=("io.rsocket:rsocket-transport-netty:1.1.5",),
    component="rsocket-java over TCP, to and from `rsocket` 0.4.20 from PyPI",
    source="`requestStream`, `requestChannel`, the channels of a server (`Payload`: `dict` or reference)",
    sink="`requestChannel`, the responses of a server (`bytes` or `dict` as `Payload`)",
    ordering="kept",
    delivery="at most once: the loss of the connection loses the elements in flight, and fails the stream",
    cancel="a CANCEL frame",
    gateways=("jpype", "spark"),
)


def on_loop(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine on the event loop of rsocket-py."""
    return asyncio.run_coroutine_threadsafe(coroutine, background_loop()).result(DEADLINE)


def numbers(count: int) -> Iterator[bytes]:
    return (b"%d" % number for number in range(count))


class Peer(BaseRequestHandler):  # type: ignore[misc]
    """An rsocket-py server that answers with the stream of the test and records the requests."""

    def __init__(self, answer: Callable[[Any], pyrs.Publisher[bytes]]) -> None:
        super().__init__()
        self.answer = answer
        self.requested: list[int] = []
        self.cancelled = threading.Event()
        self.servers: list[RSocketServer] = []
        self.listening: asyncio.Server
        self.port = 0

    async def request_stream(self, request: Payload) -> Any:
        return self.as_rsocket_publisher(self.answer(request.data))

    async def request_channel(self, request: Payload) -> Any:
        receiver = Receiver()
        # rsocket-py passes the first element, which opens the channel, separately.
        requests = pyrs.just(request).concat(receiver.stream).map(lambda received: bytes(received.data))
        return self.as_rsocket_publisher(self.answer(requests)), receiver

    def as_rsocket_publisher(self, stream: pyrs.Publisher[bytes]) -> Any:
        watched = pyrs.Stream(stream).do_on_request(self.requested.append).do_on_cancel(self.cancelled.set)
        return to_rsocket(watched.map(Payload))

    async def listen(self) -> None:
        def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.servers.append(RSocketServer(TransportTCP(reader, writer), handler_factory=lambda: self))

        self.listening = await asyncio.start_server(serve, "127.0.0.1", 0)
        self.port = self.listening.sockets[0].getsockname()[1]

    async def disconnect(self) -> None:
        for server in self.servers:
            await server.close()

    async def close(self) -> None:
        self.listening.close()
        await self.disconnect()


class TestClient:
    """Python requests through rsocket-java, and rsocket-py responds."""

    @pytest.fixture
    def connected_to(self, bridge: Bridge, recipe: ModuleType) -> Iterator[Any]:
        """Return a function that starts an rsocket-py server with a response, and connects rsocket-java to it."""
        running = []

        def start(answer: Any) -> tuple[JavaObject, Peer]:
            peer = Peer(answer)
            on_loop(peer.listen())
            client = recipe.connect(bridge, "127.0.0.1", peer.port)
            running.append((client, peer))
            return client, peer

        yield start
        for client, peer in running:
            client.dispose()
            on_loop(peer.close())

    def test_program_on_the_page_runs(self, program: ModuleType, connected_to: Any) -> None:
        _, peer = connected_to(lambda request: pyrs.from_iterable(numbers(500)))
        assert program.first_hundred("127.0.0.1", peer.port) == list(numbers(100))

    def test_request_stream_returns_every_payload(self, bridge: Bridge, recipe: ModuleType, connected_to: Any) -> None:
        client, _ = connected_to(lambda request: pyrs.from_iterable(numbers(int(request))))
        stream = recipe.request_stream(bridge, client, b"500")
        assert stream.collect(timeout=DEADLINE) == list(numbers(500))
        assert stream.count().block(DEADLINE) == 500  # a separate request

    def test_payloads_can_be_received_as_references(self, bridge: Bridge, connected_to: Any) -> None:
        client, _ = connected_to(lambda request: pyrs.from_iterable(numbers(3)))
        request = bridge.java_class("io.rsocket.util.DefaultPayload").create(b"")
        payloads = bridge.from_jvm(client.requestStream(request), convert="references").collect(timeout=DEADLINE)
        assert [payload.getDataUtf8() for payload in payloads] == ["0", "1", "2"]

    def test_demand_is_sent_as_request_n_and_cancel_is_forwarded(
        self, bridge: Bridge, recipe: ModuleType, connected_to: Any
    ) -> None:
        client, peer = connected_to(lambda request: Watched(lambda: numbers(10**9)))
        received = TestSubscriber(2, timeout=DEADLINE)
        recipe.request_stream(bridge, client, b"").subscribe(received)
        received.await_count(2)
        received.request(3)
        assert received.await_count(5) == list(numbers(5))
        assert peer.requested == [2, 3]
        received.cancel()
        assert peer.cancelled.wait(DEADLINE)
        assert received.elements == list(numbers(5))

    def test_request_channel_exchanges_every_payload(
        self, bridge: Bridge, recipe: ModuleType, connected_to: Any
    ) -> None:
        client, _ = connected_to(lambda requests: requests.map(lambda number: b"%d" % (10 * int(number))))
        sent = Watched(lambda: numbers(300))
        stream = recipe.request_channel(bridge, client, sent)
        assert stream.collect(timeout=DEADLINE) == [b"%d" % (10 * number) for number in range(300)]
        assert sent.emitted == 300

    def test_channel_demand_of_the_peer_reaches_python(
        self, bridge: Bridge, recipe: ModuleType, connected_to: Any
    ) -> None:
        taken = TestSubscriber(3, timeout=DEADLINE)

        def answer(requests: pyrs.Stream[bytes]) -> pyrs.Publisher[bytes]:
            requests.subscribe(taken)
            return pyrs.never()

        client, _ = connected_to(answer)
        sent = Watched(lambda: numbers(10**9))
        recipe.request_channel(bridge, client, sent).subscribe(TestSubscriber(1, timeout=DEADLINE))
        assert taken.await_count(3)[:3] == list(numbers(3))
        assert sent.requested <= 4  # rsocket-java requests one to open the channel
        taken.cancel()
        assert sent.cancelled.wait(DEADLINE)

    def test_peer_error_is_forwarded(self, bridge: Bridge, recipe: ModuleType, connected_to: Any) -> None:
        client, _ = connected_to(lambda request: Watched(lambda: numbers(1), ValueError("the disk is full")))
        received = TestSubscriber(5, timeout=DEADLINE)
        recipe.request_stream(bridge, client, b"").subscribe(received)
        error = received.await_error(JavaError)
        assert error.java_class == "io.rsocket.exceptions.ApplicationErrorException"
        assert "the disk is full" in str(error)
        assert received.elements == [b"0"]

    def test_lost_connection_fails_the_stream(self, bridge: Bridge, recipe: ModuleType, connected_to: Any) -> None:
        client, peer = connected_to(lambda request: Watched(lambda: numbers(10**9)))
        received = TestSubscriber(1, timeout=DEADLINE)
        recipe.request_stream(bridge, client, b"").subscribe(received)
        received.await_count(1)
        on_loop(peer.disconnect())
        error = received.await_error(JavaError)
        assert error.java_class == "java.nio.channels.ClosedChannelException"


class TestServer:
    """rsocket-py requests, and Python responds through rsocket-java."""

    @pytest.fixture
    def connect_client(self) -> Iterator[Any]:
        """Return a function that connects rsocket-py to an rsocket-java server."""
        running = []

        async def connect(port: int) -> RSocketClient:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            return await RSocketClient(single_transport_provider(TransportTCP(reader, writer))).__aenter__()

        def start(server: JavaObject) -> RSocketClient:
            client = on_loop(connect(server.address().getPort()))
            running.append((client, server))
            return client

        yield start
        for client, server in running:
            on_loop(client.close())
            server.dispose()

    @staticmethod
    def stream(client: RSocketClient, request: bytes) -> pyrs.Stream[bytes]:
        answers = from_rsocket(lambda: client.request_stream(Payload(request)), loop=background_loop())
        return answers.map(lambda payload: payload.data)

    def test_server_answers_a_request_stream(self, bridge: Bridge, recipe: ModuleType, connect_client: Any) -> None:
        client = connect_client(recipe.serve_stream(bridge, lambda request: pyrs.from_iterable(numbers(int(request)))))
        assert self.stream(client, b"500").collect(timeout=DEADLINE) == list(numbers(500))

    def test_request_n_arrives_as_demand_and_cancel_is_forwarded(
        self, bridge: Bridge, recipe: ModuleType, connect_client: Any
    ) -> None:
        source = Watched(lambda: numbers(10**9))
        client = connect_client(recipe.serve_stream(bridge, lambda request: source))
        received = TestSubscriber(2, timeout=DEADLINE)
        self.stream(client, b"").subscribe(received)
        received.await_count(2)
        received.request(3)
        assert received.await_count(5) == list(numbers(5))
        assert source.requested == 5
        received.cancel()
        assert source.cancelled.wait(DEADLINE)

    def test_server_answers_a_request_channel(self, bridge: Bridge, recipe: ModuleType, connect_client: Any) -> None:
        server = recipe.serve_channel(bridge, lambda requests: requests.map(lambda number: b"%d" % (10 * int(number))))
        client = connect_client(server)

        def channel() -> Any:
            rest = to_rsocket(pyrs.from_iterable(numbers(300)).skip(1).map(Payload))
            return client.request_channel(Payload(b"0"), rest)

        answers = from_rsocket(channel, loop=background_loop()).map(lambda payload: payload.data)
        assert answers.collect(timeout=DEADLINE) == [b"%d" % (10 * number) for number in range(300)]

    def test_channel_demand_of_python_reaches_the_peer(
        self, bridge: Bridge, recipe: ModuleType, connect_client: Any
    ) -> None:
        taken = TestSubscriber(3, timeout=DEADLINE)

        def answer(requests: pyrs.Stream[bytes]) -> pyrs.Publisher[bytes]:
            requests.subscribe(taken)
            return pyrs.never()

        client = connect_client(recipe.serve_channel(bridge, answer))
        sent = Watched(lambda: map(Payload, numbers(10**9)))
        channel = from_rsocket(
            lambda: client.request_channel(Payload(b"first"), to_rsocket(sent)), loop=background_loop()
        )
        channel.subscribe(TestSubscriber(1, timeout=DEADLINE))
        assert taken.await_count(3) == [b"first", *numbers(2)]
        assert sent.requested <= 3
        taken.cancel()
        assert sent.cancelled.wait(DEADLINE)

    def test_publisher_error_aborts_the_exchange(self, bridge: Bridge, recipe: ModuleType, connect_client: Any) -> None:
        failing = Watched(lambda: numbers(1), ValueError("the disk is full"))
        client = connect_client(recipe.serve_stream(bridge, lambda request: failing))
        received = TestSubscriber(5, timeout=DEADLINE)
        self.stream(client, b"").subscribe(received)
        error = received.await_error()
        assert "ValueError: the disk is full" in str(error)  # rsocket-py raises a RuntimeError
        assert received.elements == [b"0"]

    def test_client_disconnect_cancels_the_publisher(
        self, bridge: Bridge, recipe: ModuleType, connect_client: Any
    ) -> None:
        source = Watched(lambda: numbers(10**9))
        client = connect_client(recipe.serve_stream(bridge, lambda request: source))
        received = TestSubscriber(1, timeout=DEADLINE)
        self.stream(client, b"").subscribe(received)
        received.await_count(1)
        on_loop(client.close())
        assert source.cancelled.wait(DEADLINE)
