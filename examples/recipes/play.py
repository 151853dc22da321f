"""Play: the recipe of docs/recipes/play.md.

Run it: python examples/recipes/play.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.request import urlopen

import pyrs
from pyrs import jvm
from pyrs.jvm import Bridge, JavaObject

PACKAGES = ["org.playframework:play-pekko-http-server_2.13:3.0.9", "org.playframework:play-java_2.13:3.0.9"]


def main() -> None:
    with jvm.launch(packages=PACKAGES) as bridge:
        server = start(bridge, lambda request, body: body.map(bytes.upper))
        print(f"curl --data-binary @README.md http://127.0.0.1:{server.httpPort().get()}/")
        input("Press Enter to stop the server. ")
        server.stop()


JAVADSL = "org.apache.pekko.stream.javadsl"

BYTES = "org.apache.pekko.util.ByteString"


def chunked(bridge: Bridge, components: JavaObject, body: pyrs.Publisher[bytes]) -> JavaObject:
    """Return a ``CompletionStage`` of a chunked response, one chunk per element."""

    def begin(first_and_rest: JavaObject) -> JavaObject:
        whole = bridge.java_class(f"{JAVADSL}.Source").from_(first_and_rest.first()).concat(first_and_rest.second())
        result: JavaObject = bridge.java_class("play.mvc.Results").ok().chunked(whole)
        return result

    publisher = bridge.to_jvm(body, element_type=BYTES)
    source = bridge.java_class(f"{JAVADSL}.Source").fromPublisher(publisher).prefixAndTail(1)
    first = source.runWith(bridge.java_class(f"{JAVADSL}.Sink").head(), components.materializer())
    response: JavaObject = first.thenApply(bridge.to_jvm_callable(begin, "java.util.function.Function"))
    return response


def action(
    bridge: Bridge,
    components: JavaObject,
    answer: Callable[[JavaObject, pyrs.Stream[bytes]], pyrs.Publisher[bytes]],
) -> JavaObject:
    """Create an action; ``answer`` maps a request and its body to a response's body."""
    function = "java.util.function.Function"

    def consume(request: JavaObject) -> Any:
        def respond(source: JavaObject) -> JavaObject:
            return chunked(bridge, components, answer(request, into_python(bridge, components, source)))

        accumulator = bridge.java_class("play.libs.streams.Accumulator").source()
        return accumulator.mapFuture(bridge.to_jvm_callable(respond, function), components.executionContext())

    result: JavaObject = bridge.java_class("play.mvc.EssentialAction").of(bridge.to_jvm_callable(consume, function))
    return result


def into_python(bridge: Bridge, components: JavaObject, source: JavaObject) -> pyrs.Stream[bytes]:
    fanout = bridge.java_class(f"{JAVADSL}.AsPublisher").valueOf("WITHOUT_FANOUT")
    publisher = source.runWith(bridge.java_class(f"{JAVADSL}.Sink").asPublisher(fanout), components.materializer())
    body: pyrs.Stream[bytes] = bridge.from_jvm(publisher, convert="values")
    return body


def start(bridge: Bridge, answer: Callable[[JavaObject, pyrs.Stream[bytes]], pyrs.Publisher[bytes]]) -> JavaObject:
    """Start a server on a free port of 127.0.0.1: ``server.httpPort().get()``.

    ``server.stop()`` stops it.
    """

    def routes(components: JavaObject) -> JavaObject:
        every_request = action(bridge, components, answer)
        router = bridge.to_jvm_callable(lambda request: every_request, "scala.Function1")
        partial: JavaObject = bridge.java_class("scala.PartialFunction").fromFunction(router)
        return partial

    factory = bridge.java_class("play.core.server.PekkoHttpServer")
    router = bridge.to_jvm_callable(routes, "scala.Function1")
    server: JavaObject = factory.fromRouterWithComponents(settings(bridge), router)
    return server


def settings(bridge: Bridge) -> JavaObject:
    option = bridge.java_class("scala.Option")
    any_port = option.apply(bridge.java_class("java.lang.Integer")(0))
    config: JavaObject = bridge.java_class("play.core.server.ServerConfig").apply(
        bridge.java_class("play.core.server.Server").class_.getClassLoader(),
        bridge.java_class("java.io.File")("."),
        any_port,
        option.empty(),  # no HTTPS
        "127.0.0.1",
        bridge.java_class("play.Mode").TEST.asScala(),
        bridge.java_class("java.lang.System").getProperties(),
    )
    return config


with jvm.launch(packages=PACKAGES) as bridge:
    server = start(bridge, lambda request, body: body.map(bytes.upper))
    with urlopen(f"http://127.0.0.1:{server.httpPort().get()}/", b"to be") as response:
        print(response.read())
    server.stop()
