"""Spring WebFlux: the recipe of docs/recipes/webflux.md.

Run it: python examples/recipes/webflux.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyrs
from pyrs import jvm
from pyrs.jvm import Bridge, JavaObject

PACKAGES = [
    "org.springframework:spring-webflux:7.0.10",
    "org.springframework:spring-context:7.0.10",
    "io.projectreactor.netty:reactor-netty-http:1.3.1",
]


def ticks_over_http(count: int) -> list[str]:
    """Serve a Python stream as server-sent events; return the events that a WebClient receives."""
    with jvm.launch(packages=PACKAGES) as bridge:
        server = serve(bridge, "/ticks", lambda request: pyrs.range(count).map(str))
        try:
            return events(bridge, f"http://127.0.0.1:{server.port()}/ticks").collect(timeout=30)
        finally:
            server.disposeNow()


WEB = "org.springframework.web.reactive.function"


def serve(bridge: Bridge, path: str, publisher_for: Callable[[JavaObject], pyrs.Publisher[str]]) -> JavaObject:
    """Start an HTTP server on a free port.

    ``publisher_for`` returns the body of the response to a GET request.
    """
    media = bridge.java_class("org.springframework.http.MediaType")
    response = bridge.java_class(f"{WEB}.server.ServerResponse")
    text = bridge.java_class("java.lang.String")

    def handle(request: JavaObject) -> JavaObject:
        body = bridge.to_jvm(publisher_for(request), element_type="java.lang.String")
        result: JavaObject = response.ok().contentType(media.TEXT_EVENT_STREAM).body(body, text)
        return result

    handler = bridge.to_jvm_callable(handle, f"{WEB}.server.HandlerFunction")
    get = bridge.java_class(f"{WEB}.server.RequestPredicates").GET(path)
    return listen(bridge, bridge.java_class(f"{WEB}.server.RouterFunctions").route(get, handler))


def listen(bridge: Bridge, routes: JavaObject) -> JavaObject:
    """Start the server of Reactor Netty for a RouterFunction.

    ``port()`` returns its port, and ``disposeNow()`` stops it.
    """
    handler = bridge.java_class(f"{WEB}.server.RouterFunctions").toHttpHandler(routes)
    adapter = bridge.java_class("org.springframework.http.server.reactive.ReactorHttpHandlerAdapter")(handler)
    http = bridge.java_class("reactor.netty.http.server.HttpServer").create().host("127.0.0.1").port(0)
    server: JavaObject = http.handle(adapter).bindNow()
    return server


def events(bridge: Bridge, url: str) -> pyrs.Stream[str]:
    """Return the data fields of the server-sent events at a URL."""
    data = retrieve(bridge, url).bodyToFlux(bridge.java_class("java.lang.String"))
    stream: pyrs.Stream[str] = bridge.from_jvm(data)
    return stream


def body(bridge: Bridge, url: str) -> pyrs.Stream[bytes]:
    """Return the body of a response in the chunks in which it arrives."""
    chunks = retrieve(bridge, url).bodyToFlux(bridge.java_class("byte[]"))
    stream: pyrs.Stream[bytes] = bridge.from_jvm(chunks)
    return stream


def retrieve(bridge: Bridge, url: str) -> JavaObject:
    response: JavaObject = bridge.java_class(f"{WEB}.client.WebClient").create(url).get().retrieve()
    return response


def post(bridge: Bridge, url: str, chunks: pyrs.Publisher[bytes], *, timeout_seconds: float = 30) -> str:
    """Send a chunked body on the server's demand; wait for the response and return it."""
    client = bridge.java_class(f"{WEB}.client.WebClient").create(url)
    sent = client.post().body(bridge.to_jvm(chunks, element_type="byte[]"), bridge.java_class("byte[]"))
    response: Any = sent.retrieve().bodyToMono(bridge.java_class("java.lang.String"))
    return str(bridge.from_jvm(response.toFuture()).result(timeout_seconds))


print(ticks_over_http(3))
