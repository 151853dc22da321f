"""RSocket: the recipe of docs/recipes/rsocket.md.

Run it: python examples/recipes/rsocket.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyrs
from pyrs import jvm
from pyrs.jvm import Bridge, JavaObject

PACKAGES = ["io.rsocket:rsocket-transport-netty:1.1.5"]


def first_hundred(host: str, port: int) -> list[bytes]:
    with jvm.launch(packages=PACKAGES) as bridge:
        rsocket = connect(bridge, host, port)
        try:
            return request_stream(bridge, rsocket, b"all").take(100).collect(timeout=30)
        finally:
            rsocket.dispose()


TRANSPORT = "io.rsocket.transport.netty"

PAYLOAD = "io.rsocket.Payload"


def connect(bridge: Bridge, host: str, port: int) -> JavaObject:
    transport = bridge.java_class(f"{TRANSPORT}.client.TcpClientTransport").create(host, port)
    connecting = bridge.java_class("io.rsocket.core.RSocketConnector").create().connect(transport)
    rsocket: JavaObject = bridge.from_jvm(connecting.toFuture()).result(30)
    return rsocket


def request_stream(bridge: Bridge, rsocket: JavaObject, request: bytes) -> pyrs.Stream[bytes]:
    """Return the response of the peer; each Subscriber makes its own request."""

    def send() -> pyrs.Stream[bytes]:
        payload = bridge.java_class("io.rsocket.util.DefaultPayload").create(request)
        return data(bridge, rsocket.requestStream(payload))

    return pyrs.defer(send)


def request_channel(bridge: Bridge, rsocket: JavaObject, requests: pyrs.Publisher[bytes]) -> pyrs.Stream[bytes]:
    """Send a stream, and receive another."""
    return data(bridge, rsocket.requestChannel(payloads(bridge, requests)))


def data(bridge: Bridge, publisher: JavaObject | jvm.JavaProcessor) -> pyrs.Stream[bytes]:
    """Return the data of a Publisher of Payloads, which are dicts of ``data`` and ``metadata``."""
    received: pyrs.Stream[dict[str, bytes]] = bridge.from_jvm(publisher, convert="values", exact=True)
    return received.map(lambda payload: payload["data"])


def payloads(bridge: Bridge, stream: pyrs.Publisher[bytes]) -> Any:
    """Convert a stream of bytes, or of dicts of ``data`` and ``metadata``, to a Publisher of Payloads."""
    return bridge.to_jvm(stream, element_type=PAYLOAD, exact=True)


def serve_stream(bridge: Bridge, answer: Callable[[bytes], pyrs.Publisher[bytes]]) -> JavaObject:
    """Answer request-stream; ``answer`` receives the payload of the request."""
    flux = bridge.java_class("reactor.core.publisher.Flux")

    def respond(request: dict[str, Any]) -> JavaObject:
        answered: JavaObject = flux.from_(payloads(bridge, answer(request["data"])))
        return answered

    function = bridge.to_jvm_callable(respond, "java.util.function.Function", convert="values")
    return bound(bridge, bridge.java_class("io.rsocket.SocketAcceptor").forRequestStream(function))


def serve_channel(bridge: Bridge, answer: Callable[[pyrs.Stream[bytes]], pyrs.Publisher[bytes]]) -> JavaObject:
    """Answer request-channel; ``answer`` receives the peer's stream."""
    flux = bridge.java_class("reactor.core.publisher.Flux")

    def respond(requests: jvm.JavaProcessor) -> JavaObject:
        answered: JavaObject = flux.from_(payloads(bridge, answer(data(bridge, requests))))
        return answered

    function = bridge.to_jvm_callable(respond, "java.util.function.Function")
    return bound(bridge, bridge.java_class("io.rsocket.SocketAcceptor").forRequestChannel(function))


def bound(bridge: Bridge, acceptor: JavaObject) -> JavaObject:
    """Start a server on a free port: ``server.address().getPort()``.

    ``server.dispose()`` stops it.
    """
    transport = bridge.java_class(f"{TRANSPORT}.server.TcpServerTransport").create("127.0.0.1", 0)
    binding = bridge.java_class("io.rsocket.core.RSocketServer").create(acceptor).bind(transport)
    server: JavaObject = bridge.from_jvm(binding.toFuture()).result(30)
    return server


with jvm.launch(packages=PACKAGES) as bridge:
    server = serve_stream(bridge, lambda request: pyrs.range(1_000_000).map(lambda n: str(n).encode()))
    print(first_hundred("127.0.0.1", server.address().getPort())[-1])
    server.dispose()
