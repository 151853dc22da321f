"""Eclipse Vert.x: the recipe of docs/recipes/vertx.md.

Run it: python examples/recipes/vertx.py
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import pyrs
from pyrs import jvm
from pyrs.jvm import Bridge, JavaFuture, JavaObject

PACKAGES = ["io.vertx:vertx-reactive-streams:4.5.14", "io.reactivex.rxjava3:rxjava:3.1.12"]


def size_of(path: str) -> int:
    with jvm.launch(packages=PACKAGES) as bridge:
        vertx = open_vertx(bridge)
        try:
            return sum(len(part) for part in read_file(bridge, vertx, path).to_iterable(timeout=30))
        finally:
            awaited(bridge, vertx.close()).result(30)  # its threads would keep the process alive


def awaited(bridge: Bridge, future: JavaObject) -> JavaFuture:
    result: JavaFuture = bridge.from_jvm(future.toCompletionStage())
    return result


RXJAVA = "io.reactivex.rxjava3"


def open_vertx(bridge: Bridge) -> JavaObject:
    """Create a Vert.x with one event loop."""
    options = bridge.java_class("io.vertx.core.VertxOptions")().setEventLoopPoolSize(1)
    vertx: JavaObject = bridge.java_class("io.vertx.core.Vertx").vertx(options)
    return vertx


def on_event_loop(bridge: Bridge, vertx: JavaObject, publisher: JavaObject) -> JavaObject:
    """Move the signals and the requests of a Publisher to the event loop."""
    loop = bridge.java_class(f"{RXJAVA}.schedulers.Schedulers").from_(vertx.nettyEventLoopGroup())
    flowable = bridge.java_class(f"{RXJAVA}.core.Flowable").fromPublisher(publisher)
    moved: JavaObject = flowable.unsubscribeOn(loop).observeOn(loop, False, 16)
    return moved


BUFFER = "io.vertx.core.buffer.Buffer"

ADAPTERS = "io.vertx.ext.reactivestreams"


def from_read_stream(bridge: Bridge, vertx: JavaObject, read_stream: JavaObject) -> pyrs.Stream[bytes]:
    """Return the bytes of a stream of Buffers, for one Subscriber."""
    writer = bridge.java_class(f"{ADAPTERS}.ReactiveWriteStream").writeStream(vertx)
    last = bridge.java_class(BUFFER).buffer()
    piped = awaited(bridge, read_stream.pipe().endOnSuccess(False).endOnFailure(False).to(writer))
    parts = bridge.from_jvm(on_event_loop(bridge, vertx, writer), convert="values").take_while(bool)
    return pyrs.merge(parts, piped.do_on_complete(lambda: writer.write(last)).ignore_elements())


def read_file(bridge: Bridge, vertx: JavaObject, path: str) -> pyrs.Stream[bytes]:
    """Return the bytes of a file, in blocks of 8 KiB; each Subscriber opens it."""
    options = bridge.java_class("io.vertx.core.file.OpenOptions")().setCreate(False).setWrite(False)

    def content(file: JavaObject) -> pyrs.Stream[bytes]:
        return from_read_stream(bridge, vertx, file).finally_do(file.close)

    opening = pyrs.defer(lambda: awaited(bridge, vertx.fileSystem().open(path, options)))
    return opening.concat_map(content, prefetch=1)


def into_write_stream(
    bridge: Bridge, vertx: JavaObject, content: pyrs.Publisher[bytes], write_stream: JavaObject
) -> JavaFuture:
    """Write the content and end the WriteStream.

    After a failure the result fails, and the WriteStream stays open.
    """
    failed: pyrs.sinks.Sink[Any] = pyrs.sinks.multicast()
    reader = bridge.java_class(f"{ADAPTERS}.ReactiveReadStream").readStream(1)
    # Subscribe before piping: the adapter does not request from a Publisher that it receives later.
    parts = bridge.to_jvm(pyrs.Stream(content).take_until(failed.stream), element_type=BUFFER)
    on_event_loop(bridge, vertx, parts).subscribe(reader)
    written = awaited(bridge, reader.pipe().endOnFailure(False).to(write_stream))
    written.subscribe(on_error=lambda error: failed.try_emit_complete())
    return written


def serve(
    bridge: Bridge, vertx: JavaObject, answer: Callable[[pyrs.Stream[bytes]], pyrs.Publisher[bytes]]
) -> JavaObject:
    """Start an HTTP server on a free port.

    ``answer`` maps a request's body to a response's body.
    """

    def handle(request: JavaObject) -> None:
        response = request.response().setChunked(True)
        body = from_read_stream(bridge, vertx, request)
        sent = into_write_stream(bridge, vertx, answer(body), response)
        sent.subscribe(on_error=lambda error: response.reset())  # so that a client sees a failure

    handler = bridge.to_jvm_callable(handle, "io.vertx.core.Handler")
    server = vertx.createHttpServer().requestHandler(handler).listen(0, "127.0.0.1")
    listening: JavaObject = awaited(bridge, server).result(30)
    return listening


with tempfile.NamedTemporaryFile() as file:
    file.write(bytes(100_000))
    file.flush()
    print(size_of(file.name))
